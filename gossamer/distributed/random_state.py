"""The random numbers of a process: where its generators are, and the same numbers again."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def rng_state() -> dict[str, Any]:
    """The generators of torch (CPU and current GPU), NumPy and Python."""
    numpy: Any = np.random.get_state(legacy=True)
    state = {
        "torch": torch.get_rng_state(),
        "numpy": (numpy[0], torch.from_numpy(numpy[1].astype(np.int64)), *numpy[2:]),
        "python": random.getstate(),
    }
    return state | ({"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {})


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Continue the streams that `rng_state` recorded."""
    torch.set_rng_state(state["torch"])
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])


@contextmanager
def replaying(state: Mapping[str, Any]) -> Iterator[None]:
    """Within, the numbers that followed `state` come again; afterwards all goes on as before.

    >>> state = rng_state()
    >>> first = torch.rand(1)
    >>> with replaying(state):
    ...     again = torch.rand(1)
    >>> torch.equal(first, again)
    True
    """
    now = rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(now)
