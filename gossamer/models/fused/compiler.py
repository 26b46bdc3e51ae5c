"""Triton where it is installed; where it is not, kernels are defined but never called."""

from typing import Any

import torch
from torch import Tensor

try:
    import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]

    jit: Any = triton.jit
except ImportError:
    tl: Any = None  # type: ignore[no-redef]

    def jit(function: Any) -> Any:
        """The function as it is."""
        return function


def has_kernel(x: Tensor) -> bool:
    """Whether the kernels can be used on `x`: CUDA, bfloat16, rows of a power of two from 16 on."""
    width = x.shape[-1]
    suits = x.is_cuda and x.dtype == torch.bfloat16 and width >= 16 and width & (width - 1) == 0
    return tl is not None and suits


def split_rows(positions: int, models: int, block: int) -> tuple[int, int]:
    """Into how many programs to split a model's rows, and how many rows each takes.

    Five hundred programs fill a GPU; more would only add partial sums.
    """
    programs = max(1, min(-(-positions // block), 512 // models))
    return programs, -(-positions // programs // block) * block
