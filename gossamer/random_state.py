"""The global random numbers of torch, NumPy and Python, which a block may have for itself."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def kept(devices: Sequence[torch.device] = ()) -> Iterator[None]:
    """Within, all may be drawn and seeded; afterwards the numbers go on as if nothing had been.

    Args:
        devices: the GPUs of which this holds too, each with its index.

    >>> _ = torch.manual_seed(0)
    >>> with kept():
    ...     inside = torch.rand(1)
    >>> torch.equal(inside, torch.rand(1))
    True
    """
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with _torch_kept(devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def seeded(seed: int, devices: Sequence[torch.device] = ()) -> Iterator[None]:
    """Within, the numbers are those of `seed`; afterwards they go on as if nothing had been.

    Args:
        seed: one that torch takes; NumPy takes its low 32 bits.
        devices: the GPUs of which this holds too, each with its index.

    >>> with seeded(3):
    ...     first = torch.rand(1)
    >>> with seeded(3):
    ...     again = torch.rand(1)
    >>> torch.equal(first, again)
    True
    """
    with kept(devices), torch_seeded(seed, devices):
        random.seed(seed)
        np.random.seed(seed % 2**32)
        yield


@contextmanager
def torch_seeded(seed: int, devices: Sequence[torch.device] = ()) -> Iterator[None]:
    """As `seeded`, but for torch's numbers alone; this takes a twentieth of the time."""
    with _torch_kept(devices):
        for generator in _generators(devices):
            generator.manual_seed(seed)
        yield


@contextmanager
def _torch_kept(devices: Sequence[torch.device]) -> Iterator[None]:
    states = [(generator, generator.get_state()) for generator in _generators(devices)]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def _generators(devices: Sequence[torch.device]) -> list[torch.Generator]:
    """The global one of the CPU, and those of GPUs that are in use."""
    return [torch.default_generator, *(torch.cuda.default_generators[one.index] for one in devices)]
