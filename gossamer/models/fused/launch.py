"""Which tensors the kernels can be used on, and how their work is split."""

import torch
from torch import Tensor

from gossamer.triton_language import installed


def has_kernel(x: Tensor) -> bool:
    """Whether the kernels can be used on `x`: CUDA, bfloat16, rows of a power of two from 16 on."""
    width = x.shape[-1]
    suits = x.is_cuda and x.dtype == torch.bfloat16 and width >= 16 and width & (width - 1) == 0
    return installed() and suits


def split_rows(positions: int, models: int, block: int, programs: int) -> tuple[int, int]:
    """Into how many programs to split a model's rows, and how many rows each takes.

    About `programs` in all: enough to fill a GPU, few enough to leave few partial sums.

    >>> split_rows(positions=4096, models=8, block=16, programs=512)
    (64, 64)
    """
    share = max(1, min(-(-positions // block), programs // models))
    return share, -(-positions // (share * block)) * block
