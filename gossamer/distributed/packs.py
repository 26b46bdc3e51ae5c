"""What a process resumes with, as bytes: what is read back executes nothing."""

import io
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gossamer.errors import InvalidInput


def pack(value: Any) -> bytes:
    """Numbers, strings, lists, dictionaries and tensors as bytes."""
    file = io.BytesIO()
    torch.save(_with_plain_numbers(value), file)
    return file.getvalue()


def _with_plain_numbers(value: Any) -> Any:
    """Python's numbers in place of NumPy's, which a schedule with `np.cos` leaves in a scheduler.

    >>> _with_plain_numbers({"_last_lr": [np.float64(0.1)]})
    {'_last_lr': [0.1]}
    """
    if isinstance(value, np.generic):
        return value.item()
    kind = type(value)
    if kind is dict:
        return {key: _with_plain_numbers(each) for key, each in value.items()}
    return kind(map(_with_plain_numbers, value)) if kind in (list, tuple) else value


def unpack(packed: Tensor | bytes) -> Any:
    """What was packed; executes nothing from the bytes.

    >>> unpack(pack({"last_epoch": 3}))
    {'last_epoch': 3}
    """
    content = packed.numpy().tobytes() if isinstance(packed, Tensor) else packed
    return torch.load(io.BytesIO(content), weights_only=True)


def require_readable(name: str, values: Mapping[str, Any]) -> None:
    """Refuse values that could be packed, but not read back.

    >>> from pathlib import Path
    >>> require_readable("extras", {"s": {"file": Path("log"), "step": 3}})
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: extras: 's' holds PosixPath; use numbers, strings, lists,
    dictionaries and tensors
    """
    for key, value in values.items():
        if not _can_be_read(value):
            kind = type(_innermost(value)).__name__
            way_out = "use numbers, strings, lists, dictionaries and tensors"
            raise InvalidInput(f"{name}: {key!r} holds {kind}; {way_out}")


def _can_be_read(value: Any) -> bool:
    try:
        unpack(pack(value))
    except Exception:  # whatever pickle or torch has against it
        return False
    return True


def _innermost(value: Any) -> Any:
    """The part that cannot be read, of a value that cannot; the value itself if all parts can."""
    parts: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    if isinstance(value, Mapping):
        parts = chain(*value.items())
    return next((_innermost(part) for part in parts if not _can_be_read(part)), value)
