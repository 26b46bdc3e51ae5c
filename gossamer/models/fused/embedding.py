"""The embedding; where LayerNorm follows, with its dropout and the norm in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused._add_norm import contiguous, norm, norm_grad_launch
from gossamer.models.fused.launch import has_kernel
from gossamer.models.fused.mask import kept, mask_seed
from gossamer.models.fused.residual import add_sum, load_rows, store_with_norm, total_grad
from gossamer.models.fused.rows import add_rows, models_of
from gossamer.models.fused.slot import Layer, Slot
from gossamer.triton_language import jit, padded, tl

WINDOWS, WINDOWS_BACK = 2, 8
"""Windows that a program of either pass goes through."""


def embed(tokens: Tensor, token: Slot, position: Slot) -> Tensor:
    """E[token] + P[position]: tokens `(models, windows, time)` → `(models, positions, width)`."""
    return _Embed.apply(token.value.requires_grad_(), tokens, token.grad, position)


def embed_norm(
    tokens: Tensor, token: Slot, position: Slot, after: Layer, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """dropout(E[token] + P[position]), and its LayerNorm `after`."""
    if has_kernel(token.value):
        value = token.value.requires_grad_()
        return _EmbedNorm.apply(value, tokens.contiguous(), token.grad, position, after, dropout)
    h = functional.dropout(embed(tokens, token, position), dropout)
    return h, norm(h, after)


class _Embed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, tokens: Tensor, d_table: Tensor, position: Slot) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.grads = d_table, position.grad
        h = table[models_of(tokens), tokens] + position.value[:, None, : tokens.shape[-1]]
        return h.flatten(1, 2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        (tokens,), (d_table, d_position) = ctx.saved_tensors, ctx.grads
        add_rows(d_table, tokens.flatten(1), grads[0].contiguous())
        windows, time = grads[0].unflatten(1, tokens.shape[1:]), tokens.shape[-1]
        d_position[:, :time] += windows.sum(1, dtype=d_position.dtype)
        return None, None, None, None


class _EmbedNorm(torch.autograd.Function):
    """Keeps the sum alone, as `add_norm` does."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        tokens: Tensor,
        d_table: Tensor,
        position: Slot,
        after: Layer,
        dropout: float,
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        total = table.new_empty(len(table), tokens[0].numel(), table.shape[-1])
        normed, seed = torch.empty_like(total), mask_seed(table.device) if dropout > 0 else None
        grid, sizes, warps = _sizes(tokens, table.shape[-1], after, WINDOWS)
        _forward[grid](
            tokens, table, position.value, *after.values(), total, normed, seed, dropout,
            *sizes, dropout > 0, num_warps=warps,
        )  # fmt: skip
        ctx.save_for_backward(tokens, total, seed)
        ctx.parameters, ctx.dropout = (d_table, position, after), dropout
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, ...]:
        tokens, total, seed = ctx.saved_tensors
        d_table, position, after = ctx.parameters
        grid, sizes, warps = _sizes(tokens, total.shape[-1], after, WINDOWS_BACK)
        _backward[grid](
            tokens, total, after.weight.value, *contiguous(grads), d_table, position.grad,
            after.weight.grad, after.bias.grad, seed, ctx.dropout, *sizes, ctx.dropout > 0,
            num_warps=warps,
        )  # fmt: skip
        return None, None, None, None, None, None


def _sizes(
    tokens: Tensor, width: int, after: Layer, together: int
) -> tuple[tuple[int, int, int], tuple[int, ...], int]:
    """The grid, the sizes that both kernels are given, and their warps.

    A program holds half as many rows of a window as one of `add_norm`: it also adds to a table.
    """
    models, windows, time = tokens.shape
    rows, _, warps = norm_grad_launch(width, models=1)
    block = max(1, rows // 2)
    grid = (-(-windows // together), -(-time // block), models)
    sizes = (windows, time, *after.strides(), width, padded(width), block, together)
    return grid, sizes, warps


@jit
def _forward(
    tokens, table, position, weight, shift, total, normed, seed, dropout,
    windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, WINDOWS: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # tokens: (models, windows, time); total, normed: (models, windows, time, WIDTH)
    # table, position: (models, rows, WIDTH), weight, shift: (models, WIDTH), all `stride` apart
    model, column = tl.program_id(2).to(tl.int64), tl.arange(0, PADDED)
    t, there = tl.program_id(1) * ROWS + tl.arange(0, ROWS), column < WIDTH
    inside = (t < time)[:, None] & there[None, :]
    own = model * stride
    p = load_rows(position + own, t[:, None] * WIDTH + column[None, :], inside)
    first = tl.program_id(0) * WINDOWS
    for window in range(first, tl.minimum(first + WINDOWS, windows)):
        row = (model * windows + window) * time + t
        word = tl.load(tokens + row, mask=t < time, other=0)
        x = load_rows(table + own, word[:, None] * WIDTH + column[None, :], inside) + p
        where = row[:, None] * WIDTH + column[None, :]
        if DROP:
            x *= kept(seed, where, dropout)
        store_with_norm(x, weight + own, shift + own, total, normed, where, inside, column, WIDTH)


@jit
def _backward(
    tokens, total, weight, d_total, d_normed, d_table, d_position, d_weight, d_shift,
    seed, dropout, windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, WINDOWS: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # tokens: (models, windows, time); total, d_total, d_normed: (models, windows, time, WIDTH)
    # weight: (models, WIDTH), `stride` apart; gradients of parameters: `grad_stride` apart
    model, column = tl.program_id(2).to(tl.int64), tl.arange(0, PADDED)
    t, there = tl.program_id(1) * ROWS + tl.arange(0, ROWS), column < WIDTH
    inside = (t < time)[:, None] & there[None, :]
    own = model * grad_stride
    for_position = tl.zeros([ROWS, PADDED], tl.float32)
    for_weight = tl.zeros([ROWS, PADDED], tl.float32)
    for_shift = tl.zeros([ROWS, PADDED], tl.float32)
    first = tl.program_id(0) * WINDOWS
    for window in range(first, tl.minimum(first + WINDOWS, windows)):
        row = (model * windows + window) * time + t
        where = row[:, None] * WIDTH + column[None, :]
        d_x, of_weight, of_shift = total_grad(
            total, weight + model * stride, d_total, d_normed, where, inside, column, WIDTH
        )
        if DROP:
            d_x *= kept(seed, where, dropout)
        word = own + tl.load(tokens + row, mask=t < time, other=0) * WIDTH
        tl.atomic_add(d_table + word[:, None] + column[None, :], d_x, mask=inside, sem="relaxed")
        for_position += d_x
        for_weight += of_weight
        for_shift += of_shift
    to = d_position + own + t[:, None] * WIDTH + column[None, :]
    tl.atomic_add(to, for_position, mask=inside, sem="relaxed")
    add_sum(d_weight + own, for_weight, column, WIDTH)
    add_sum(d_shift + own, for_shift, column, WIDTH)
