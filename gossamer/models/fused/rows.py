"""Adding rows to chosen rows of a table: the gradient of an embedding."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from torch import Tensor

from gossamer.models.fused.launch import has_kernel
from gossamer.triton_language import jit, padded, tl

ROWS = 16
"""Rows that a program adds."""


def add_rows(table: Tensor, index: Tensor, values: Tensor, scale: Tensor | None = None) -> None:
    """table[index] += scale · values, row by row, adding up where an index repeats.

    On CUDA the order of additions, and with it the last bit of a sum, is not fixed.

    >>> import torch
    >>> table = torch.zeros(3, 2)
    >>> add_rows(table, torch.tensor([2, 0, 2]), torch.ones(3, 2))
    >>> table
    tensor([[1., 1.], [0., 0.], [2., 2.]])
    """
    if has_kernel(values):
        count, width = values.shape
        weights = values if scale is None else scale
        grid = (-(-count // ROWS),)
        sizes = (count, width, padded(width), ROWS)
        _add_rows[grid](table, index, values, weights, *sizes, scale is not None)
        return
    values = values.to(table.dtype)
    table.index_add_(0, index, values if scale is None else values * scale[:, None])


@jit
def _add_rows(
    table, index, values, scale, count,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, SCALED: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, PADDED)
    inside = row < count
    cells = inside[:, None] & (column < WIDTH)[None, :]
    where = row[:, None] * WIDTH + column[None, :]
    value = tl.load(values + where, mask=cells, other=0.0).to(tl.float32)
    if SCALED:
        value *= tl.load(scale + row, mask=inside, other=0.0)[:, None]
    to = tl.load(index + row, mask=inside, other=0).to(tl.int64)
    tl.atomic_add(table + to[:, None] * WIDTH + column[None, :], value, mask=cells)
