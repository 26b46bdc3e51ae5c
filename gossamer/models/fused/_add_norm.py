"""A branch's bias, its addition to the residual stream and the next LayerNorm, in one pass."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel, rows_at_a_time, split_rows
from gossamer.models.fused.mask import mask_seed
from gossamer.models.fused.residual import (
    add_sum,
    join,
    leave,
    load_rows,
    store_with_norm,
    total_grad,
)
from gossamer.models.fused.slot import Layer, Slot
from gossamer.triton_language import jit, padded, tl

NARROW = 128
"""Width up to which few threads with few rows are fastest on an H200."""

FEW = 16
"""Models up to which the additions at the end of the backward pass are felt."""

ELEMENTS = 4096
"""Most elements of a program's rows; with twice as many the backward pass leaves the registers."""


def add_norm(
    h: Tensor, branch: Tensor, bias: Slot, after: Layer, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """h + dropout(branch + bias), and its LayerNorm `after`.

    Activations are `(models, positions, width)`, the bias and LayerNorm's parameters
    `(models, width)`.
    """
    if has_kernel(h):
        return _AddNorm.apply(h, branch, bias, after, dropout)
    h = h + functional.dropout(branch + bias.tracked()[:, None], dropout)
    return h, _layer_norm(h, after)


def norm(h: Tensor, after: Layer) -> Tensor:
    """LayerNorm over the width, every model with its own weight and shift."""
    if has_kernel(h):
        return _AddNorm.apply(h, None, None, after, 0.0)[1]
    return _layer_norm(h, after)


def _layer_norm(h: Tensor, after: Layer) -> Tensor:
    (weight, shift), unit = after.tracked(), functional.layer_norm(h, h.shape[-1:])
    return torch.addcmul(shift[:, None], unit, weight[:, None])


class _AddNorm(torch.autograd.Function):
    """Keeps the sum alone: its moments and the mask are made again in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        branch: Tensor | None,
        bias: Slot | None,
        after: Layer,
        dropout: float,
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        total, normed = torch.empty_like(h), torch.empty_like(h)
        seed = mask_seed(h.device) if dropout > 0 else None
        grid, sizes, warps = _sizes(h, after, norm_launch)
        _forward[grid](
            h, branch, bias and bias.value, *after.values(), total, normed, seed, dropout,
            *sizes, dropout > 0, num_warps=warps,
        )  # fmt: skip
        ctx.save_for_backward(total, seed)
        ctx.bias, ctx.after, ctx.dropout = bias, after, dropout
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        total, seed = ctx.saved_tensors
        d_h, d_branch = join_grad(total, grads, ctx.bias, ctx.after, seed, ctx.dropout)
        return d_h, d_branch if ctx.bias else None, None, None, None


def join_grad(
    total: Tensor,
    grads: Sequence[Tensor | None],
    bias: Slot | None,
    after: Layer,
    seed: Tensor | None,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """∂h and ∂branch from those of the sum and its norm; puts the parameters' gradients."""
    d_h = torch.empty_like(total)
    d_branch = torch.empty_like(total) if dropout > 0 else d_h
    grid, sizes, warps = _sizes(total, after, norm_grad_launch)
    _backward[grid](
        total, after.weight.value, *contiguous(grads), d_h, d_branch, bias and bias.grad,
        after.weight.grad, after.bias.grad, seed, dropout, *sizes, dropout > 0,
        num_warps=warps,
    )  # fmt: skip
    return d_h, d_branch


def contiguous(grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """As kernels need them; None where nothing used what they are gradients of."""
    return tuple(None if grad is None else grad.contiguous() for grad in grads)


class Launch(NamedTuple):
    """How rows are dealt to programs."""

    rows: int
    """That a program holds at a time."""

    programs: int
    """In all, about."""

    warps: int
    """Threads of a program, by 32."""


def norm_launch(width: int, models: int) -> Launch:
    """Of the forward pass, what was fastest on an H200, of rows that stay in registers.

    >>> norm_launch(128, models=8), norm_launch(1024, models=8)
    (Launch(rows=4, programs=4096, warps=1), Launch(rows=4, programs=512, warps=4))
    """
    return Launch(4, 512 * models, 1) if width <= NARROW else _wide_launch(width)


def norm_grad_launch(width: int, models: int) -> Launch:
    """Of the backward pass, whose programs end with additions to the same sums.

    >>> norm_grad_launch(128, models=8), norm_grad_launch(128, models=40)
    (Launch(rows=8, programs=1024, warps=1), Launch(rows=4, programs=10240, warps=1))
    """
    if width > NARROW:
        return _wide_launch(width)
    return Launch(8, 128 * models, 1) if models <= FEW else Launch(4, 256 * models, 1)


def _wide_launch(width: int) -> Launch:
    return Launch(rows_at_a_time(padded(width), 16, ELEMENTS), 512, 4)


def _sizes(
    h: Tensor, after: Layer, launch: Callable[[int, int], Launch]
) -> tuple[tuple[int, int], tuple[int, ...], int]:
    """The grid, the sizes that both kernels are given, and their warps."""
    models, positions, width = h.shape
    block, programs, warps = launch(width, models)
    share, rows = split_rows(positions, models, block, programs)
    sizes = (positions, rows, *after.strides(), width, padded(width), block)
    return (models, share), sizes, warps


@jit
def _forward(
    h, branch, bias, weight, shift, total, normed, seed, dropout,
    positions, rows, stride, grad_stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    # h, branch, total, normed: (models, positions, WIDTH); bias, weight, shift: rows `stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    weight += model * stride
    shift += model * stride
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & (column < WIDTH)[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        if branch is None:
            x = load_rows(h, where, inside)
            store_with_norm(x, weight, shift, total, normed, where, inside, column, WIDTH)
        else:
            join(
                load_rows(branch, where, inside), h, bias + model * stride, weight, shift,
                total, normed, seed, dropout, where, inside, column, WIDTH, DROP,
            )  # fmt: skip


@jit
def _backward(
    total, weight, d_total, d_normed, d_h, d_branch, d_bias, d_weight, d_shift, seed, dropout,
    positions, rows, stride, grad_stride,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    # total, d_total, d_normed, d_h, d_branch: (models, positions, WIDTH)
    # weight: rows `stride` apart; d_bias, d_weight, d_shift: rows `grad_stride` apart
    model, column = tl.program_id(0).to(tl.int64), tl.arange(0, PADDED)
    for_bias = tl.zeros([ROWS, PADDED], tl.float32)
    for_weight = tl.zeros([ROWS, PADDED], tl.float32)
    for_shift = tl.zeros([ROWS, PADDED], tl.float32)
    for start in range(tl.program_id(1) * rows, (tl.program_id(1) + 1) * rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < positions)[:, None] & (column < WIDTH)[None, :]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        d_x, of_weight, of_shift = total_grad(
            total, weight + model * stride, d_total, d_normed, where, inside, column, WIDTH
        )
        for_bias += leave(d_x, d_h, d_branch, seed, dropout, where, inside, DROP)
        for_weight += of_weight
        for_shift += of_shift
    if d_bias is not None:
        add_sum(d_bias + model * grad_stride, for_bias, column, WIDTH)
    add_sum(d_weight + model * grad_stride, for_weight, column, WIDTH)
    add_sum(d_shift + model * grad_stride, for_shift, column, WIDTH)
