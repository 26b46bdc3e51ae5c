"""What the cross-entropy tells its logits, row by row in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel
from gossamer.triton_language import jit, tl

COLUMNS = 2048
"""Columns that a program reads at a time."""


def softmax_error(logits: Tensor, targets: Tensor, classes: int, scale: float) -> Tensor:
    """(softmax(s) − e_y)·scale for the first `classes` columns of every row s, 0 in the others.

    The kernel writes it over the logits. The softmax is computed in float32 or better.

    Args:
        logits: s, `(…, columns)`.
        targets: y, the class of every row, `(…)`.
        classes: columns that are logits; those beyond only fill up the rows.
        scale: a number.

    >>> softmax_error(torch.zeros(1, 3), torch.tensor([1]), classes=2, scale=4.0)
    tensor([[ 2., -2.,  0.]])
    """
    if has_kernel(logits):
        logits, rows = logits.contiguous(), targets.numel()
        sizes = (scale, classes, logits.shape[-1], COLUMNS)
        _softmax_error[rows,](logits, targets.contiguous(), *sizes, num_warps=8)
        return logits
    precision = torch.promote_types(logits.dtype, torch.float32)
    p = torch.softmax(logits[..., :classes], -1, dtype=precision)
    p.scatter_add_(-1, targets[..., None], -torch.ones_like(p[..., :1]))
    return functional.pad((p * scale).to(logits.dtype), (0, logits.shape[-1] - classes))


@jit
def _softmax_error(
    logits, targets, scale, classes, columns, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    target, logits = tl.load(targets + row), logits + row * columns
    largest = tl.full([COLUMNS], -float("inf"), tl.float32)
    total = tl.zeros([COLUMNS], tl.float32)
    for start in range(0, classes, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        s = tl.load(logits + column, mask=column < classes, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(tl.maximum(largest, s), -1e38)  # −∞ would be subtracted from itself
        total = total * tl.exp(largest - larger) + tl.exp(s - larger)
        largest = larger
    most = tl.max(largest, 0)
    factor = scale / tl.sum(total * tl.exp(largest - most), 0)
    for start in range(0, columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        s = tl.load(logits + column, mask=column < classes, other=-float("inf")).to(tl.float32)
        error = tl.exp(s - most) * factor - tl.where(column == target, scale, 0.0)
        tl.store(logits + column, error.to(logits.dtype.element_ty), mask=column < columns)
