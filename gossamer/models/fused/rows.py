"""Adding rows to chosen rows of tables: the gradient of an embedding."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.models.fused.launch import has_kernel
from gossamer.triton_language import jit, padded, tl

ROWS = 16
"""Rows that a program adds."""


def add_rows(tables: Tensor, index: Tensor, values: Tensor, scale: Tensor | None = None) -> None:
    """tables[index] += scale · values for every model, adding up where an index repeats.

    On CUDA the order of additions, and with it the last bit of a sum, is not fixed.

    Args:
        tables: `(models, rows, width)`, each model's rows following each other.
        index: `(models, count)`.
        values: `(models, count, width)`.
        scale: `(models, count)`, or None for 1.

    >>> tables = torch.zeros(1, 3, 2)
    >>> add_rows(tables, torch.tensor([[2, 0, 2]]), torch.ones(1, 3, 2))
    >>> tables[0]
    tensor([[1., 1.], [0., 0.], [2., 2.]])
    """
    if has_kernel(values):
        models, count, width = values.shape
        sizes = (tables.stride(0), count, width, padded(width), ROWS)
        _add_rows[-(-count // ROWS), models](tables, index, values, scale, *sizes)
        return
    values = values.to(tables.dtype)
    values = values if scale is None else values * scale[..., None]
    tables.index_put_((models_of(index), index), values, accumulate=True)


def models_of(index: Tensor) -> Tensor:
    """The first axis as an index beside `index`, `(models, 1, …)`."""
    return torch.arange(len(index), device=index.device).view(-1, *[1] * (index.dim() - 1))


@jit
def _add_rows(
    tables, index, values, scale, stride, count,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, PADDED)
    model = tl.program_id(1).to(tl.int64)
    inside = row < count
    cells = inside[:, None] & (column < WIDTH)[None, :]
    at = model * count + row
    value = tl.load(values + at[:, None] * WIDTH + column[None, :], mask=cells, other=0.0)
    value = value.to(tl.float32)
    if scale is not None:
        value *= tl.load(scale + at, mask=inside, other=0.0)[:, None]
    to = model * stride + tl.load(index + at, mask=inside, other=0).to(tl.int64) * WIDTH
    tl.atomic_add(tables + to[:, None] + column[None, :], value, mask=cells, sem="relaxed")
