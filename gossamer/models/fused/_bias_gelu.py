"""The bias and nonlinearity of a hidden layer in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.gelu import gelu, gelu_with_slope
from gossamer.models.fused.launch import has_kernel, rows_at_a_time, split_rows
from gossamer.models.fused.residual import add_sum, load_row, load_rows
from gossamer.models.fused.slot import Slot
from gossamer.triton_language import jit, padded, tl

ROWS, PROGRAMS = 8, 1024
"""Rows that a program holds at a time, and programs; fastest on an H200 at width 512."""

ELEMENTS = 8192
"""Most elements of these rows; with twice as many the backward pass leaves the registers."""


def bias_gelu(h: Tensor, bias: Slot) -> Tensor:
    """GELU(h + bias): `(models, positions, width)` and `(models, width)` → the first's shape."""
    if has_kernel(h):
        return _BiasGELU.apply(h, bias)
    return functional.gelu(h + bias.tracked()[:, None], approximate="tanh")


class _BiasGELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, bias: Slot) -> Tensor:
        ctx.save_for_backward(h)
        ctx.bias, out = bias, torch.empty_like(h)
        grid, sizes = _launch(h)
        _forward[grid](h, bias.value, out, bias.value.stride(0), *sizes)
        return out

    @staticmethod
    def backward(ctx: Any, *d_out: Tensor) -> tuple[Tensor, None]:
        (h,), bias = ctx.saved_tensors, ctx.bias
        d_h, (grid, sizes) = torch.empty_like(h), _launch(h)
        strides = (bias.value.stride(0), bias.grad.stride(0))
        _backward[grid](h, bias.value, d_out[0].contiguous(), d_h, bias.grad, *strides, *sizes)
        return d_h, None


def _launch(h: Tensor) -> tuple[tuple[int, int], tuple[int, ...]]:
    """The grid, and the sizes that both kernels are given."""
    models, positions, width = h.shape
    block = rows_at_a_time(padded(width), ROWS, ELEMENTS)
    programs, rows = split_rows(positions, models, block, PROGRAMS)
    return (models, programs), (positions, rows, width, padded(width), block)


@jit
def _forward(
    h, bias, out, stride, positions, rows,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # h, out: (models, positions, WIDTH); bias: (models, WIDTH), rows `stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    b = load_row(bias + model * stride, column, WIDTH)
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & (column < WIDTH)[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        y, _ = gelu(load_rows(h, where, inside) + b)  # [ROWS, PADDED]
        tl.store(out + where, y.to(h.dtype.element_ty), mask=inside)


@jit
def _backward(
    h, bias, d_out, d_h, d_bias, stride, grad_stride, positions, rows,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # h, d_out, d_h: (models, positions, WIDTH)
    # bias, d_bias: (models, WIDTH), rows `stride`, `grad_stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    b = load_row(bias + model * stride, column, WIDTH)
    for_bias = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & (column < WIDTH)[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        _, slope = gelu_with_slope(load_rows(h, where, inside) + b)
        d_x = load_rows(d_out, where, inside) * slope
        tl.store(d_h + where, d_x.to(h.dtype.element_ty), mask=inside)
        for_bias += d_x
    add_sum(d_bias + model * grad_stride, for_bias, column, WIDTH)
