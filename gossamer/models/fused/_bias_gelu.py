"""The bias and nonlinearity of a hidden layer in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel, rows_at_a_time, split_rows
from gossamer.triton_language import jit, padded, tl

ROWS, PROGRAMS = 8, 1024
"""Rows that a program holds at a time, and programs; fastest on an H200 at width 512."""

ELEMENTS = 8192
"""Most elements of these rows; with twice as many the backward pass leaves the registers."""


def bias_gelu(h: Tensor, bias: Tensor) -> Tensor:
    """GELU(h + bias): `(models, positions, width)` and `(models, width)` → the first's shape.

    GPT's form, x σ(2u) with u = √(2/π) (x + 0.044715 x³).
    """
    if has_kernel(h):
        return _BiasGELU.apply(h, bias)
    return functional.gelu(h + bias[:, None], approximate="tanh")


class _BiasGELU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, bias: Tensor) -> Tensor:
        models, positions, width = h.shape
        ctx.save_for_backward(h, bias)
        out = torch.empty_like(h)
        block = rows_at_a_time(padded(width), ROWS, ELEMENTS)
        programs, rows = split_rows(positions, models, block, PROGRAMS)
        sizes = (positions, rows, bias.stride(0), width, padded(width), block)
        _forward[models, programs](h, bias, out, *sizes)
        return out

    @staticmethod
    def backward(ctx: Any, *d_out: Tensor) -> tuple[Tensor, Tensor]:
        h, bias = ctx.saved_tensors
        models, positions, width = h.shape
        d_h = torch.empty_like(h)
        block = rows_at_a_time(padded(width), ROWS, ELEMENTS)
        programs, rows = split_rows(positions, models, block, PROGRAMS)
        sums = h.new_empty(models, programs, width, dtype=torch.float32)
        sizes = (positions, rows, bias.stride(0), width, padded(width), block)
        _backward[models, programs](h, bias, d_out[0].contiguous(), d_h, sums, *sizes)
        return d_h, sums.sum(1).to(bias.dtype)


@jit
def _gate(x):
    """σ(2u), and the derivative of 2u = 2√(2/π) (x + 0.044715 x³)."""
    double = 1.5957691216057308  # 2√(2/π)
    return tl.sigmoid(double * (x + 0.044715 * x * x * x)), double * (1 + 0.134145 * x * x)


@jit
def _forward(
    h, bias, out, positions, rows, stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # h, out: (models, positions, WIDTH); bias: (models, WIDTH), rows `stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    there = column < WIDTH
    b = tl.load(bias + model * stride + column, mask=there, other=0.0).to(tl.float32)[None, :]
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & there[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        x = tl.load(h + where, mask=inside, other=0.0).to(tl.float32) + b  # [ROWS, PADDED]
        gate, _ = _gate(x)
        tl.store(out + where, (x * gate).to(h.dtype.element_ty), mask=inside)


@jit
def _backward(
    h, bias, d_out, d_h, sums, positions, rows, stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # h, d_out, d_h: (models, positions, WIDTH); bias: (models, WIDTH), rows `stride` apart
    # sums: (models, programs, WIDTH), each program's share of ∂/∂bias
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    there = column < WIDTH
    b = tl.load(bias + model * stride + column, mask=there, other=0.0).to(tl.float32)[None, :]
    d_bias = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & there[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        x = tl.load(h + where, mask=inside, other=0.0).to(tl.float32) + b  # [ROWS, PADDED]
        d_y = tl.load(d_out + where, mask=inside, other=0.0).to(tl.float32)
        gate, slope = _gate(x)
        d_x = d_y * gate * (1 + x * (1 - gate) * slope)
        tl.store(d_h + where, d_x.to(h.dtype.element_ty), mask=inside)
        d_bias += d_x
    to = sums + (model * tl.num_programs(1) + tl.program_id(1)) * WIDTH + column
    tl.store(to, tl.sum(d_bias, 0), mask=there)
