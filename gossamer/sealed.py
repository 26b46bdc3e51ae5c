"""safetensors files that know a checksum of all their bytes, so that no damage goes unnoticed.

The SHA-256 stands in the file's own metadata, and is taken with 64 zeros in its place:

    length | {"__metadata__": {…, "sha256": "<64 hex digits>"}, "x": …} | tensors
"""

import hashlib
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gossamer.errors import InvalidInput
from gossamer.files import whole_file

BLANK = "0" * 64
SEAL = re.compile(rb'"sha256":"([0-9a-f]{64})"')
PIECE = 1 << 20


def write_sealed(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a file with its checksum, whole or not at all, and on the disk before it appears.

    A process that is killed meanwhile leaves one file, whose name says what it was to become:
    safetensors' own writer would leave one of an arbitrary name.
    """
    own = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    own = dict(sorted(own.items(), key=lambda item: -item[1].itemsize))  # aligned, as the format is
    head = _head(own, {**metadata, "sha256": BLANK})
    place = head.index(f'"sha256":"{BLANK}"'.encode()) + len('"sha256":"')
    with whole_file(path) as partial, partial.open("wb") as file:
        digest = _write(file, head, own.values())
        file.seek(place)
        file.write(digest.encode())


def _write(file: BinaryIO, head: bytes, tensors: Iterable[Tensor]) -> str:
    """Write all, and return its digest."""
    digest = hashlib.sha256()
    views = (z.reshape(-1).view(torch.uint8).numpy().data for z in tensors)
    for piece in chain([memoryview(head)], views):
        file.write(piece)
        digest.update(piece)
    return digest.hexdigest()


def _head(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """What stands before the tensors' bytes in safetensors' format."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, z in tensors.items():
        begin, end = end, end + z.nbytes
        entries[name] = {"dtype": _word(z.dtype), "shape": [*z.shape], "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


@cache
def _word(dtype: torch.dtype) -> str:
    """What safetensors calls a dtype.

    >>> _word(torch.bfloat16)
    'BF16'
    """
    return str(json.loads(save({"z": torch.empty(0, dtype=dtype)})[8:])["z"]["dtype"])


def read_sealed(path: Path, kind: str, way_out: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file; executes nothing from it.

    One that is not as it was written raises `InvalidInput`, which says what `kind` of file it is
    and the `way_out`.
    """
    with undamaged(path, kind, way_out):
        with path.open("rb") as file:
            place, digest = _seal(file)
            file.seek(place)
            if digest != file.read(len(BLANK)).decode():
                raise ValueError("its checksum is wrong")
        with safe_open(path, framework="pt") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            return tensors, opened.metadata()


@contextmanager
def undamaged(path: Path, kind: str, way_out: str) -> Iterator[None]:
    """Reading a file within, whatever is wrong with it is said with its name and a way out."""
    try:
        yield
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as reason:
        words = f"{path} is damaged or was not written by Gossamer ({reason})"
        raise InvalidInput(f"{kind}: {words}; {way_out}") from reason


def _seal(file: BinaryIO) -> tuple[int, str]:
    """Where the checksum stands, and what it should be."""
    head = file.read(8)
    length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
    head += file.read(min(length, PIECE * 64))
    found = SEAL.search(head)
    if found is None:
        raise ValueError("it holds no checksum")
    place = found.start(1)
    digest = hashlib.sha256(head[:place] + BLANK.encode() + head[found.end(1) :])
    while piece := file.read(PIECE):
        digest.update(piece)
    return place, digest.hexdigest()
