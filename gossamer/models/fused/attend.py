"""The branch of attention from end to end: one program takes a window through all of it.

It goes from LayerNorm's output n through q, k, v = W n + b, attention head by head, and the
projection to the residual stream and its next LayerNorm; `residual` and `one_head` hold the
mathematics. The backward pass makes q, k and v again, and keeps their gradients for those of W.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gossamer.models.fused._add_norm import add_norm, contiguous
from gossamer.models.fused.attention import Windows, store_part, windowed_attention
from gossamer.models.fused.launch import has_kernel, is_power_of_two, shared_memory
from gossamer.models.fused.mask import mask_seed
from gossamer.models.fused.one_head import attend, attend_grad
from gossamer.models.fused.product import product, put_weight_grad
from gossamer.models.fused.residual import add_sum, join, leave, total_grad
from gossamer.models.fused.slot import Layer
from gossamer.triton_language import jit, tl

WIDEST, LONGEST = 128, 64
"""Width and window up to which a program's rows stay in registers."""

STAGES = 2
"""Heads whose weights are read at the same time."""


def attend_add_norm(
    h: Tensor, n: Tensor, qkv: Layer, project: Layer, after: Layer, windows: Windows
) -> tuple[Tensor, Tensor]:
    """h + dropout(project(attention(qkv(n)))), and its LayerNorm `after`.

    Activations are `(models, positions, width)`.
    """
    if has_kernel(h) and _fits(h.shape[-1], windows, h.device):
        return _Attend.apply(h, n, qkv, project, after, windows)
    attended = windowed_attention(product(n, qkv.weight), qkv.bias, windows)
    return add_norm(h, product(attended, project.weight), project.bias, after, windows.dropout)


def attend_bytes(width: int, size: int, time: int) -> int:
    """Shared memory of the backward pass, which needs more than the forward pass.

    n and ∂out, `[time, width]`, the weights of `STAGES` heads, `[4 size, width]` each, and what
    `attention_bytes` counts, in bfloat16.

    >>> attend_bytes(128, 32, 64)
    122880
    """
    held = 2 * time * width + 4 * STAGES * size * width
    return 2 * (held + 4 * time * size + time * time)


def _fits(width: int, windows: Windows, device: torch.device) -> bool:
    size = width // windows.heads
    known = is_power_of_two(width) and size >= 16 and windows.time <= LONGEST and width <= WIDEST
    return known and attend_bytes(width, size, windows.block) <= shared_memory(device)


class _Attend(torch.autograd.Function):
    """Keeps n, the output of attention and the sum."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, n: Tensor, qkv: Layer, project: Layer, after: Layer, windows: Windows
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        n = n.contiguous()
        attended, total, normed = (torch.empty_like(n) for _ in range(3))
        seeds = _seeds(windows, h.device)
        grid, sizes = _launch(n, after, windows)
        _forward[grid](
            n, h.contiguous(), *qkv.values(), *project.values(), *after.values(),
            attended, total, normed, *seeds, windows.dropout, *sizes, num_stages=STAGES,
        )  # fmt: skip
        ctx.save_for_backward(n, attended, total, *seeds)
        ctx.layers, ctx.windows = (qkv, project, after), windows
        return total, normed

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        n, attended, total, *seeds = ctx.saved_tensors
        (qkv, project, after), windows = ctx.layers, ctx.windows
        d_h, d_n = torch.empty_like(n), torch.empty_like(n)
        d_branch = torch.empty_like(n) if windows.dropout > 0 else d_h
        d_qkv = n.new_empty(*n.shape[:-1], 3 * n.shape[-1])
        grid, sizes = _launch(n, after, windows)
        _backward[grid](
            n, *qkv.values(), project.weight.value, after.weight.value, total,
            *contiguous(grads), d_h, d_branch, d_n, d_qkv, qkv.bias.grad, project.bias.grad,
            after.weight.grad, after.bias.grad, *seeds, windows.dropout, *sizes,
            num_stages=STAGES,
        )  # fmt: skip
        put_weight_grad(d_qkv, n, qkv.weight.grad)
        put_weight_grad(d_branch, attended, project.weight.grad)
        return d_h, d_n, None, None, None, None


def _seeds(windows: Windows, device: torch.device) -> tuple[Tensor | None, Tensor | None]:
    """Of the masks of the scores and of the branch."""
    return (mask_seed(device), mask_seed(device)) if windows.dropout > 0 else (None, None)


def _launch(n: Tensor, after: Layer, windows: Windows) -> tuple[tuple[int], tuple[int, ...]]:
    """The grid, and the sizes that both kernels are given."""
    models, positions, width = n.shape
    count = positions // windows.time
    sizes = (count, windows.time, *after.strides(), width, width // windows.heads)
    kind = (windows.block, windows.causal, windows.dropout > 0)
    return (models * count,), (*sizes, *kind)


@jit
def _part(x, weight, bias, part, head, WIDTH: tl.constexpr, SIZE: tl.constexpr):
    """q (part 0), k (1) or v (2) of one head, `[TIME, SIZE]`, and its weights `[SIZE, WIDTH]`."""
    row = part * WIDTH + head * SIZE + tl.arange(0, SIZE)
    w = tl.load(weight + row[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
    out = tl.dot(x, tl.trans(w)) + tl.load(bias + row).to(tl.float32)[None, :]
    return out.to(x.dtype), w


@jit
def _forward(
    n, h, qkv, qkv_bias, project, bias, weight, shift, attended, total, normed,
    score_seed, seed, dropout, windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # n, h, attended, total, normed: (all windows, time, WIDTH); parameters: `stride` apart
    window, t, column = tl.program_id(0).to(tl.int64), tl.arange(0, TIME), tl.arange(0, WIDTH)
    own, inside = (window // windows) * stride, (t < time)[:, None]
    where = (window * time + t)[:, None] * WIDTH + column[None, :]
    x = tl.load(n + where, mask=inside, other=0.0)  # [TIME, WIDTH]
    branch = tl.zeros([TIME, WIDTH], tl.float32)
    for head in range(WIDTH // SIZE):
        q, _ = _part(x, qkv + own, qkv_bias + own, 0, head, WIDTH, SIZE)
        k, _ = _part(x, qkv + own, qkv_bias + own, 1, head, WIDTH, SIZE)
        v, _ = _part(x, qkv + own, qkv_bias + own, 2, head, WIDTH, SIZE)
        a = attend(
            q, k, v, score_seed, dropout, window, head, time,
            SIZE, TIME, CAUSAL, DROP, WIDTH // SIZE,
        )  # fmt: skip
        part = head * SIZE + tl.arange(0, SIZE)
        tl.store(attended + (window * time + t)[:, None] * WIDTH + part[None, :], a, mask=inside)
        w = tl.load(project + own + column[:, None] * WIDTH + part[None, :])  # [WIDTH, SIZE]
        branch = tl.dot(a, tl.trans(w), branch)
    join(
        branch, h, bias + own, weight + own, shift + own, total, normed, seed, dropout,
        where, inside, column, WIDTH, DROP,
    )  # fmt: skip


@jit
def _backward(
    n, qkv, qkv_bias, project, weight, total, d_total, d_normed, d_h, d_branch, d_n, d_qkv,
    d_qkv_bias, d_bias, d_weight, d_shift, score_seed, seed, dropout,
    windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # n, total, d_total, d_normed, d_h, d_branch, d_n: (all windows, time, WIDTH)
    # d_qkv: (all windows, time, 3 WIDTH); parameters, gradients: `stride`, `grad_stride` apart
    window, t, column = tl.program_id(0).to(tl.int64), tl.arange(0, TIME), tl.arange(0, WIDTH)
    own, inside = (window // windows) * stride, (t < time)[:, None]
    to = (window // windows) * grad_stride
    at = (window * time + t)[:, None]
    where = at * WIDTH + column[None, :]
    d_x, of_weight, of_shift = total_grad(
        total, weight + own, d_total, d_normed, where, inside, column, WIDTH
    )
    add_sum(d_weight + to, of_weight, column, WIDTH)
    add_sum(d_shift + to, of_shift, column, WIDTH)
    d_x = leave(d_x, d_h, d_branch, seed, dropout, where, inside, DROP)
    add_sum(d_bias + to, d_x, column, WIDTH)
    x = tl.load(n + where, mask=inside, other=0.0)  # [TIME, WIDTH]
    d_o = d_x.to(x.dtype)
    d_in = tl.zeros([TIME, WIDTH], tl.float32)
    for head in range(WIDTH // SIZE):
        q, w_q = _part(x, qkv + own, qkv_bias + own, 0, head, WIDTH, SIZE)
        k, w_k = _part(x, qkv + own, qkv_bias + own, 1, head, WIDTH, SIZE)
        v, w_v = _part(x, qkv + own, qkv_bias + own, 2, head, WIDTH, SIZE)
        part = head * SIZE + tl.arange(0, SIZE)
        w = tl.load(project + own + column[:, None] * WIDTH + part[None, :])  # [WIDTH, SIZE]
        d_q, d_k, d_v = attend_grad(
            q, k, v, tl.dot(d_o, w).to(x.dtype), score_seed, dropout, window, head, time,
            SIZE, TIME, CAUSAL, DROP, WIDTH // SIZE,
        )  # fmt: skip
        there = d_qkv + at * (3 * WIDTH) + part[None, :]
        store_part(d_q, there, d_qkv_bias + to + part, inside)
        store_part(d_k, there + WIDTH, d_qkv_bias + to + WIDTH + part, inside)
        store_part(d_v, there + 2 * WIDTH, d_qkv_bias + to + 2 * WIDTH + part, inside)
        d_in = tl.dot(d_q.to(x.dtype), w_q, d_in)
        d_in = tl.dot(d_k.to(x.dtype), w_k, d_in)
        d_in = tl.dot(d_v.to(x.dtype), w_v, d_in)
    tl.store(d_n + where, d_in.to(x.dtype), mask=inside)
