"""The last product of a branch, its addition to the residual stream and the next LayerNorm.

A program holds the weight W and goes through some rows of what the branch has computed so far: x Wᵀ
goes from the product's registers into the stream (see `residual`) and is never stored.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gossamer.models.fused._add_norm import add_norm, join_grad
from gossamer.models.fused._product import product, product_grad
from gossamer.models.fused.launch import fits, has_kernel
from gossamer.models.fused.mask import mask_seed
from gossamer.models.fused.residual import join
from gossamer.models.fused.slot import Layer
from gossamer.triton_language import jit, tl

WIDEST = 128
"""Width up to which the sums stay in registers."""

ROWS, TURNS = 64, 2
"""Rows that a program holds at a time, and how often; fastest on an H200."""


def project_add_norm(
    h: Tensor, x: Tensor, last: Layer, after: Layer, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """h + dropout(last(x)), and its LayerNorm `after`.

    Activations are `(models, positions, width)`; x may be wider than h.
    """
    if has_kernel(h) and x.shape == h.shape and fits(h, WIDEST, project_bytes(h.shape[-1])):
        return _Project.apply(h, x, last, after, dropout)
    return add_norm(h, product(x, last.weight), last.bias, after, dropout)


def project_bytes(width: int) -> int:
    """Shared memory that a program needs at most: W, rows of x and a row of sums, in bfloat16.

    >>> project_bytes(128)
    49408
    """
    return 2 * width * (width + ROWS + 1)


class _Project(torch.autograd.Function):
    """Keeps x and the sum."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, x: Tensor, last: Layer, after: Layer, dropout: float
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        models, positions, width = x.shape
        total, normed = torch.empty_like(x), torch.empty_like(x)
        seed = mask_seed(h.device) if dropout > 0 else None
        sizes = (positions, after.strides()[0], width, ROWS, TURNS, dropout > 0)
        _forward[-(-positions // (TURNS * ROWS)), models](
            x, h, *last.values(), *after.values(), total, normed, seed, dropout, *sizes,
            num_stages=1,
        )  # fmt: skip
        ctx.save_for_backward(x, total, seed)
        ctx.layers, ctx.dropout = (last, after), dropout
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x, total, seed = ctx.saved_tensors
        last, after = ctx.layers
        d_h, d_out = join_grad(total, grads, last.bias, after, seed, ctx.dropout)
        return d_h, product_grad(d_out, x, last.weight), None, None, None


@jit
def _forward(
    x, h, last, bias, weight, shift, total, normed, seed, dropout, positions, stride,
    WIDTH: tl.constexpr, ROWS: tl.constexpr, TURNS: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    # x, h, total, normed: (models, positions, WIDTH); parameters: `stride` apart
    model, column = tl.program_id(1).to(tl.int64), tl.arange(0, WIDTH)
    own = model * stride
    w = tl.load(last + own + column[:, None] * WIDTH + column[None, :])  # [WIDTH, WIDTH]
    for turn in range(TURNS):
        row = (tl.program_id(0) * TURNS + turn) * ROWS + tl.arange(0, ROWS)
        inside = (row < positions)[:, None]
        where = (model * positions + row)[:, None] * WIDTH + column[None, :]
        branch = tl.dot(tl.load(x + where, mask=inside, other=0.0), tl.trans(w))  # [ROWS, WIDTH]
        join(
            branch, h, bias + own, weight + own, shift + own, total, normed, seed, dropout,
            where, inside, column, WIDTH, DROP,
        )  # fmt: skip
