"""The branch of the hidden layer without keeping that layer, which is four times as wide.

With a = W₁ n + b₁ and g = GELU(a), a program holds some rows of n and goes through the hidden
units, a few at a time: W₂ g, the residual stream and its next LayerNorm (see `residual`). In the
backward pass a program holds some hidden units and goes through the positions: from ∂out it makes

    ∂g = W₂ᵀ ∂out,      ∂a = ∂g GELU'(a),      ∂W₁ = Σ ∂a nᵀ,      ∂b₁ = Σ ∂a,      ∂W₂ = Σ ∂out gᵀ

and stores ∂a, for ∂n = W₁ᵀ ∂a.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gossamer.models.fused._add_norm import add_norm, join_grad
from gossamer.models.fused._bias_gelu import bias_gelu
from gossamer.models.fused._product import product
from gossamer.models.fused.gelu import gelu, gelu_with_slope
from gossamer.models.fused.launch import fits, has_kernel
from gossamer.models.fused.mask import mask_seed
from gossamer.models.fused.residual import join
from gossamer.models.fused.slot import Layer
from gossamer.triton_language import jit, tl

WIDEST = 128
"""Width up to which a program's sums stay in registers."""

ROWS, UNITS, STAGES = 128, 64, 2
"""Forward: rows that a program holds, hidden units that it reads at a time, and reads at once."""

OWN, STEP, STAGES_BACK, PARTS = 64, 32, 4, 4
"""Backward: hidden units that a program holds, rows that it reads at a time, reads at once, and
parts into which the positions are split. All were fastest on an H200 at width 128."""


def feed_add_norm(
    h: Tensor, n: Tensor, expand: Layer, contract: Layer, after: Layer, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """h + dropout(contract(GELU(expand(n)))), and its LayerNorm `after`.

    Activations are `(models, positions, width)`.
    """
    if has_kernel(h) and fits(h, WIDEST, feed_bytes(h.shape[-1])):
        return _Feed.apply(h, n, expand, contract, after, dropout)
    hidden = bias_gelu(product(n, expand.weight), expand.bias)
    return add_norm(h, product(hidden, contract.weight), contract.bias, after, dropout)


def feed_bytes(width: int) -> int:
    """Shared memory that a program of either pass needs at most.

    What it holds and what it reads at once, in bfloat16; in the backward pass also ∂a, to store it.

    >>> feed_bytes(128)
    102400
    """
    forward = ROWS + 2 * STAGES * UNITS
    backward = 2 * OWN + 2 * STAGES_BACK * STEP
    return max(2 * width * forward, 2 * width * backward + 2 * OWN * STEP)


class _Feed(torch.autograd.Function):
    """Keeps n and the sum."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, n: Tensor, expand: Layer, contract: Layer, after: Layer, dropout: float
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        models, positions, width = n.shape
        total, normed = torch.empty_like(n), torch.empty_like(n)
        seed = mask_seed(h.device) if dropout > 0 else None
        sizes = (positions, after.strides()[0], width, 4 * width, ROWS, UNITS, dropout > 0)
        _forward[-(-positions // ROWS), models](
            n, h, *expand.values(), *contract.values(), *after.values(), total, normed, seed,
            dropout, *sizes, num_stages=STAGES,
        )  # fmt: skip
        ctx.save_for_backward(n, total, seed)
        ctx.layers, ctx.dropout = (expand, contract, after), dropout
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        n, total, seed = ctx.saved_tensors
        expand, contract, after = ctx.layers
        d_h, d_out = join_grad(total, grads, contract.bias, after, seed, ctx.dropout)
        models, positions, width = n.shape
        d_a = n.new_empty(models, 4 * width, positions)
        rows = -(-positions // (PARTS * STEP)) * STEP
        sizes = (positions, rows, *after.strides(), width, 4 * width, OWN, STEP)
        _backward[4 * width // OWN, PARTS, models](
            n, d_out, *expand.values(), contract.weight.value, d_a, expand.weight.grad,
            expand.bias.grad, contract.weight.grad, *sizes, num_stages=STAGES_BACK,
        )  # fmt: skip
        return d_h, torch.bmm(d_a.mT, expand.weight.value), None, None, None, None


@jit
def _forward(
    n, h, expand, expand_bias, contract, bias, weight, shift, total, normed, seed, dropout,
    positions, stride,
    WIDTH: tl.constexpr, HIDDEN: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # n, h, total, normed: (models, positions, WIDTH); parameters: `stride` apart
    model, column = tl.program_id(1).to(tl.int64), tl.arange(0, WIDTH)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    own, inside = model * stride, (row < positions)[:, None]
    where = (model * positions + row)[:, None] * WIDTH + column[None, :]
    x = tl.load(n + where, mask=inside, other=0.0)  # [ROWS, WIDTH]
    branch = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, HIDDEN, UNITS):
        unit = start + tl.arange(0, UNITS)
        first = tl.load(expand + own + unit[:, None] * WIDTH + column[None, :])
        second = tl.load(contract + own + column[:, None] * HIDDEN + unit[None, :])
        b = tl.load(expand_bias + own + unit).to(tl.float32)
        g, _ = gelu(tl.dot(x, tl.trans(first)) + b[None, :])  # [ROWS, UNITS]
        branch = tl.dot(g.to(x.dtype), tl.trans(second), branch)
    join(
        branch, h, bias + own, weight + own, shift + own, total, normed, seed, dropout,
        where, inside, column, WIDTH, DROP,
    )  # fmt: skip


@jit
def _backward(
    n, d_out, expand, expand_bias, contract, d_a, d_expand, d_expand_bias, d_contract,
    positions, rows, stride, grad_stride,
    WIDTH: tl.constexpr, HIDDEN: tl.constexpr, UNITS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    # n, d_out: (models, positions, WIDTH); d_a: (models, HIDDEN, positions)
    # parameters and gradients: `stride` and `grad_stride` apart
    model, column = tl.program_id(2).to(tl.int64), tl.arange(0, WIDTH)
    unit = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    own = model * stride
    first = tl.load(expand + own + unit[:, None] * WIDTH + column[None, :])  # [UNITS, WIDTH]
    second = tl.load(contract + own + column[:, None] * HIDDEN + unit[None, :])
    b = tl.load(expand_bias + own + unit).to(tl.float32)[:, None]
    for_first = tl.zeros([UNITS, WIDTH], tl.float32)
    for_second = tl.zeros([UNITS, WIDTH], tl.float32)
    for_bias = tl.zeros([UNITS], tl.float32)
    begin = tl.program_id(1) * rows
    for start in range(begin, begin + rows, STEP):
        row = start + tl.arange(0, STEP)
        inside = (row < positions)[:, None]
        at = (model * positions + row)[:, None]
        x = tl.load(n + at * WIDTH + column[None, :], mask=inside, other=0.0)  # [STEP, WIDTH]
        d_o = tl.load(d_out + at * WIDTH + column[None, :], mask=inside, other=0.0)
        g, slope = gelu_with_slope(tl.dot(first, tl.trans(x)) + b)  # [UNITS, STEP]
        d_units = tl.dot(tl.trans(second), tl.trans(d_o)) * slope
        for_bias += tl.sum(d_units, 1)
        for_second = tl.dot(g.to(x.dtype), d_o, for_second)
        d_units = d_units.to(x.dtype)
        for_first = tl.dot(d_units, x, for_first)
        to = d_a + (model * HIDDEN + unit)[:, None] * positions + row[None, :]
        tl.store(to, d_units, mask=(row < positions)[None, :])
    to = model * grad_stride
    tl.atomic_add(d_expand_bias + to + unit, for_bias, sem="relaxed")
    place = d_expand + to + unit[:, None] * WIDTH + column[None, :]
    tl.atomic_add(place, for_first, sem="relaxed")
    place = d_contract + to + column[:, None] * HIDDEN + unit[None, :]
    tl.atomic_add(place, tl.trans(for_second), sem="relaxed")
