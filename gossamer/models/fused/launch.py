"""Which tensors the kernels can be used on, and how their work is split."""

from functools import cache

import torch
from torch import Tensor

from gossamer.triton_language import installed


def has_kernel(x: Tensor) -> bool:
    """Whether the kernels can be used on `x`: bfloat16 on an NVIDIA GPU, rows of 16 or more."""
    known = installed() and x.is_cuda and torch.version.hip is None
    return known and x.dtype == torch.bfloat16 and x.shape[-1] >= 16


def is_power_of_two(width: int) -> bool:
    """What products within a program need.

    >>> is_power_of_two(64), is_power_of_two(96)
    (True, False)
    """
    return width & (width - 1) == 0


KEPT = 1024
"""Bytes of shared memory that CUDA keeps for itself of every program's."""


@cache
def shared_memory(device: torch.device) -> int:
    """Bytes of shared memory that a program may use: 232,448 on an H200.

    All that a multiprocessor has, but for 1 KiB that CUDA keeps of it.
    """
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor - KEPT


def shared_by(programs: int, limit: int) -> int:
    """What each of several programs beside each other may use, where one may use `limit` bytes.

    >>> shared_by(2, 232_448)
    115712
    """
    return (limit + KEPT) // programs - KEPT


def fits(x: Tensor, widest: int, needed: int) -> bool:
    """Whether programs can hold rows of x: of a width that they know, in the memory needed."""
    width = x.shape[-1]
    return is_power_of_two(width) and width <= widest and needed <= shared_memory(x.device)


def rows_at_a_time(width: int, most: int, elements: int) -> int:
    """How many rows of that width a program holds: at most `most`, and so many `elements`.

    More elements would not stay in registers.

    >>> [rows_at_a_time(width, most=16, elements=4096) for width in (128, 512, 8192)]
    [16, 8, 1]
    """
    return max(1, min(most, elements // width))


def split_rows(positions: int, models: int, block: int, programs: int) -> tuple[int, int]:
    """Into how many programs to split a model's rows, and how many rows each takes.

    About `programs` in all: enough to fill a GPU, few enough to leave few partial sums.

    >>> split_rows(positions=4096, models=8, block=16, programs=512)
    (64, 64)
    """
    share = max(1, min(-(-positions // block), programs // models))
    return share, -(-positions // (share * block)) * block
