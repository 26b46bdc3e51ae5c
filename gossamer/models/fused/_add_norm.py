"""A branch's bias, its addition to the residual stream and the next LayerNorm, in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel, rows_at_a_time, split_rows
from gossamer.models.fused.mask import kept, mask_seed
from gossamer.triton_language import jit, padded, tl

ROWS, PROGRAMS = 16, 512
"""Rows that a program holds at a time, and programs; fastest on an H200 at width 128."""

ELEMENTS = 4096
"""Most elements of these rows; with twice as many the backward pass leaves the registers."""


def add_norm(
    h: Tensor, branch: Tensor, bias: Tensor, weight: Tensor, shift: Tensor, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """h + dropout(branch + bias), and its LayerNorm.

    Activations are `(models, positions, width)`, the bias and LayerNorm's weight and shift
    `(models, width)`.
    """
    if has_kernel(h):
        return _AddNorm.apply(h, branch, bias, weight, shift, dropout)
    h = h + functional.dropout(branch + bias[:, None], dropout)
    return h, _layer_norm(h, weight, shift)


def norm(h: Tensor, weight: Tensor, shift: Tensor) -> Tensor:
    """LayerNorm over the width, every model with its own weight and shift."""
    if has_kernel(h):
        return _AddNorm.apply(h, None, None, weight, shift, 0.0)[1]
    return _layer_norm(h, weight, shift)


def _layer_norm(h: Tensor, weight: Tensor, shift: Tensor) -> Tensor:
    unit = functional.layer_norm(h, h.shape[-1:])
    return torch.addcmul(shift[:, None], unit, weight[:, None])


class _AddNorm(torch.autograd.Function):
    """Keeps the sum alone: its moments and the mask are made again in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        branch: Tensor | None,
        bias: Tensor | None,
        weight: Tensor,
        shift: Tensor,
        dropout: float,
    ) -> tuple[Tensor, Tensor]:
        total, normed = torch.empty_like(h), torch.empty_like(h)
        seed = mask_seed(h.device) if dropout > 0 else None
        grid, sizes = _launch(h, weight)
        _forward[grid](
            h, branch, bias, weight, shift, total, normed, seed, dropout,
            *sizes, branch is not None, dropout > 0,
        )  # fmt: skip
        ctx.save_for_backward(total, weight, seed)
        ctx.added, ctx.dropout = branch is not None, dropout
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        total, weight, seed = ctx.saved_tensors
        d_total, d_normed = (grad.contiguous() for grad in grads)
        (models, programs), sizes = _launch(total, weight)
        d_h = torch.empty_like(total)
        d_branch = torch.empty_like(total) if ctx.dropout > 0 else d_h
        sums = total.new_empty(models, programs, 3, total.shape[-1], dtype=torch.float32)
        _backward[models, programs](
            total, weight, d_total, d_normed, d_h, d_branch, sums, seed, ctx.dropout,
            *sizes, ctx.dropout > 0,
        )  # fmt: skip
        d_bias, d_weight, d_shift = sums.sum(1).to(total.dtype).unbind(1)
        added = (d_branch, d_bias) if ctx.added else (None, None)
        return d_h, *added, d_weight, d_shift, None


def _launch(h: Tensor, weight: Tensor) -> tuple[tuple[int, int], tuple[int, ...]]:
    """The grid, and the sizes that both kernels are given."""
    models, positions, width = h.shape
    block = rows_at_a_time(padded(width), ROWS, ELEMENTS)
    programs, rows = split_rows(positions, models, block, PROGRAMS)
    return (models, programs), (positions, rows, weight.stride(0), width, padded(width), block)


@jit
def _moments(x, column, WIDTH: tl.constexpr):
    """LayerNorm of the rows of x, `[ROWS, PADDED]`, without its affine part, and 1/σ, `[ROWS]`."""
    x = tl.where((column < WIDTH)[None, :], x - (tl.sum(x, 1) / WIDTH)[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(x * x, 1) / WIDTH + 1e-5)
    return x * inverse[:, None], inverse


@jit
def _forward(
    h, branch, bias, weight, shift, total, normed, seed, dropout,
    positions, rows, stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # h, branch, total, normed: (models, positions, WIDTH); bias, weight, shift: rows `stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    own, there = model * stride + column, column < WIDTH
    w = tl.load(weight + own, mask=there, other=0.0).to(tl.float32)[None, :]  # [1, PADDED]
    s = tl.load(shift + own, mask=there, other=0.0).to(tl.float32)[None, :]
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & there[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        x = tl.load(h + where, mask=inside, other=0.0).to(tl.float32)  # [ROWS, PADDED]
        if ADD:
            added = tl.load(bias + own, mask=there, other=0.0).to(tl.float32)[None, :]
            added += tl.load(branch + where, mask=inside, other=0.0).to(tl.float32)
            if DROP:
                added *= kept(seed, where, dropout)
            x += added
        x = x.to(total.dtype.element_ty)
        tl.store(total + where, x, mask=inside)
        unit, _ = _moments(x.to(tl.float32), column, WIDTH)
        tl.store(normed + where, (unit * w + s).to(total.dtype.element_ty), mask=inside)


@jit
def _backward(
    total, weight, d_total, d_normed, d_h, d_branch, sums, seed, dropout,
    positions, rows, stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    # total, d_total, d_normed, d_h, d_branch: (models, positions, WIDTH)
    # weight: rows `stride` apart
    # sums: (models, programs, 3, WIDTH), each program's share of ∂/∂bias, ∂/∂weight, ∂/∂shift
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    there = column < WIDTH
    w = tl.load(weight + model * stride + column, mask=there, other=0.0).to(tl.float32)[None, :]
    d_bias = tl.zeros([ROWS, PADDED], tl.float32)
    d_weight = tl.zeros([ROWS, PADDED], tl.float32)
    d_shift = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & there[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        x = tl.load(total + where, mask=inside, other=0.0).to(tl.float32)  # [ROWS, PADDED]
        d_n = tl.load(d_normed + where, mask=inside, other=0.0).to(tl.float32)
        d_x = tl.load(d_total + where, mask=inside, other=0.0).to(tl.float32)
        unit, inverse = _moments(x, column, WIDTH)
        g = d_n * w
        along = tl.sum(g * unit, 1) / WIDTH
        d_x += (g - (tl.sum(g, 1) / WIDTH)[:, None] - unit * along[:, None]) * inverse[:, None]
        tl.store(d_h + where, d_x.to(total.dtype.element_ty), mask=inside)
        if DROP:
            d_x *= kept(seed, where, dropout)
            tl.store(d_branch + where, d_x.to(total.dtype.element_ty), mask=inside)
        d_bias += d_x
        d_weight += d_n * unit
        d_shift += d_n
    sums += (model * tl.num_programs(1) + tl.program_id(1)) * (3 * WIDTH) + column
    tl.store(sums, tl.sum(d_bias, 0), mask=there)
    tl.store(sums + WIDTH, tl.sum(d_weight, 0), mask=there)
    tl.store(sums + 2 * WIDTH, tl.sum(d_shift, 0), mask=there)
