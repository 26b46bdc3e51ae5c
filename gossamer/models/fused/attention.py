"""Attention within short windows, one program holding a window of one head in registers."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gossamer.models.fused.launch import has_kernel, is_power_of_two, shared_memory
from gossamer.models.fused.mask import kept, mask_seed
from gossamer.models.fused.slot import Slot
from gossamer.models.gpt import attention
from gossamer.triton_language import jit, padded, tl

LONGEST = 128
"""Most tokens of a window that a program holds."""


def windowed_attention(
    qkv: Tensor, bias: Slot, time: int, heads: int, causal: bool, dropout: float = 0.0
) -> Tensor:
    """softmax(q kᵀ/√d) v with (q, k, v) = qkv + bias, within windows of `time` positions.

    `(models, positions, 3 width)` and `(models, 3 width)` → `(models, positions, width)`.
    """
    size = qkv.shape[-1] // 3 // heads
    if has_kernel(qkv[..., :size]) and _fits(time, size, qkv.device):
        return _Attention.apply(qkv, bias, time, heads, causal, dropout)
    windows = (qkv + bias.tracked()[:, None]).unflatten(1, (-1, time)).flatten(0, 1)
    return attention(windows, heads, causal, dropout).view(*qkv.shape[:2], -1)


def attention_bytes(time: int, size: int) -> int:
    """Shared memory of the backward pass, which needs more than the forward pass.

    q, k, v and ∂out, `[time, size]` each, and the scores `[time, time]`, in bfloat16.

    >>> attention_bytes(128, 32)
    65536
    """
    return 2 * (4 * time * size + time * time)


def _fits(time: int, size: int, device: torch.device) -> bool:
    known = time <= LONGEST and is_power_of_two(size)
    return known and attention_bytes(_block(time), size) <= shared_memory(device)


def _block(time: int) -> int:
    """Positions that a program holds: a power of two, as kernels need."""
    return max(16, padded(time))


def _backward_options(qkv: Tensor, time: int, size: int, dropout: float) -> dict[str, int]:
    """Registers of a thread of the backward pass, where fewer than it would take are faster.

    With 80, which in windows of 64 on a Hopper GPU are nearly enough, six programs instead of four
    share a multiprocessor and wait for their reads together: 26 µs for 31 on an H200.
    """
    hopper = torch.cuda.get_device_capability(qkv.device)[0] == 9
    few = hopper and _block(time) == 64 and size <= 32 and dropout == 0
    return {"maxnreg": 80} if few else {}


class _Attention(torch.autograd.Function):
    """Keeps nothing but qkv: the backward pass makes the scores and the mask again."""

    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, bias: Slot, time: int, heads: int, causal: bool, dropout: float
    ) -> Tensor:
        seed = mask_seed(qkv.device) if dropout > 0 else None
        ctx.save_for_backward(qkv, seed)
        ctx.bias, ctx.shape, ctx.dropout = bias, (time, heads, causal), dropout
        out = qkv.new_empty(*qkv.shape[:-1], qkv.shape[-1] // 3)
        sizes = _sizes(qkv, bias, *ctx.shape)
        _forward[_grid(qkv, time, heads)](qkv, bias.value, out, seed, dropout, *sizes, dropout > 0)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (qkv, seed), bias = ctx.saved_tensors, ctx.bias
        d_qkv, d_out = torch.empty_like(qkv), grads[0].contiguous()
        (time, heads, _), width = ctx.shape, d_out.shape[-1]
        options = _backward_options(qkv, time, width // heads, ctx.dropout)
        _backward[_grid(qkv, time, heads)](
            qkv, bias.value, d_out, d_qkv, bias.grad, seed, ctx.dropout,
            *_sizes(qkv, bias, *ctx.shape), ctx.dropout > 0, **options,
        )  # fmt: skip
        return d_qkv, None, None, None, None, None


def _grid(qkv: Tensor, time: int, heads: int) -> tuple[int, int]:
    return qkv.shape[0] * qkv.shape[1] // time, heads


def _sizes(qkv: Tensor, bias: Slot, time: int, heads: int, causal: bool) -> tuple[int, ...]:
    width, strides = qkv.shape[-1] // 3, (bias.value.stride(0), bias.grad.stride(0))
    return qkv.shape[1] // time, time, *strides, width, width // heads, _block(time), causal


@jit
def _load(qkv, bias, part, head, t, inside, WIDTH: tl.constexpr, SIZE: tl.constexpr):
    """q (part 0), k (1) or v (2) of one head in one window, with its bias, `[TIME, SIZE]`."""
    column = part * WIDTH + head * SIZE + tl.arange(0, SIZE)
    value = tl.load(qkv + t[:, None] * (3 * WIDTH) + column[None, :], mask=inside, other=0.0)
    return (value.to(tl.float32) + tl.load(bias + column)[None, :]).to(value.dtype)


@jit
def _softmax(q, k, t, time, SIZE: tl.constexpr, CAUSAL: tl.constexpr):
    """softmax(q kᵀ/√d) over the positions that each position sees, `[TIME, TIME]`."""
    s = tl.dot(q, tl.trans(k)) * (SIZE**-0.5)
    seen = (t[None, :] < time) & ((t[None, :] <= t[:, None]) | (not CAUSAL))
    s = tl.where(seen, s, -float("inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    return p / tl.sum(p, 1)[:, None]


@jit
def _places(window, head, t, TIME: tl.constexpr):
    """A number of its own for every score of every window and head, `[TIME, TIME]`."""
    first = (window * tl.num_programs(1) + head) * (TIME * TIME)
    return first + t[:, None] * TIME + t[None, :]


@jit
def _forward(
    qkv, bias, out, seed, dropout, windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # qkv: (all windows, time, 3 WIDTH); bias: (models, 3 WIDTH), rows `stride` apart
    # out: (all windows, time, WIDTH), of which head h has columns h SIZE, …
    window, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    t = tl.arange(0, TIME)
    inside = (t < time)[:, None]
    bias += (window // windows) * stride
    qkv += window * time * (3 * WIDTH)
    q = _load(qkv, bias, 0, head, t, inside, WIDTH, SIZE)
    k = _load(qkv, bias, 1, head, t, inside, WIDTH, SIZE)
    v = _load(qkv, bias, 2, head, t, inside, WIDTH, SIZE)
    p = _softmax(q, k, t, time, SIZE, CAUSAL)
    if DROP:
        p *= kept(seed, _places(window, head, t, TIME), dropout)
    column = head * SIZE + tl.arange(0, SIZE)
    where = (window * time + t)[:, None] * WIDTH + column[None, :]
    tl.store(out + where, tl.dot(p.to(v.dtype), v).to(v.dtype), mask=inside)


@jit
def _backward(
    qkv, bias, d_out, d_qkv, d_bias, seed, dropout, windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # qkv, d_qkv: (all windows, time, 3 WIDTH); d_out: (all windows, time, WIDTH)
    # bias, d_bias: (models, 3 WIDTH), rows `stride` and `grad_stride` apart
    window, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    t = tl.arange(0, TIME)
    inside = (t < time)[:, None]
    bias += (window // windows) * stride
    qkv += window * time * (3 * WIDTH)
    q = _load(qkv, bias, 0, head, t, inside, WIDTH, SIZE)
    k = _load(qkv, bias, 1, head, t, inside, WIDTH, SIZE)
    v = _load(qkv, bias, 2, head, t, inside, WIDTH, SIZE)
    column = head * SIZE + tl.arange(0, SIZE)
    where = (window * time + t)[:, None] * WIDTH + column[None, :]
    d_o = tl.load(d_out + where, mask=inside, other=0.0)
    p = _softmax(q, k, t, time, SIZE, CAUSAL)
    d_p = tl.dot(d_o, tl.trans(v))  # d p = do vᵀ
    if DROP:
        mask = kept(seed, _places(window, head, t, TIME), dropout)
        d_v = tl.dot(tl.trans((p * mask).to(v.dtype)), d_o)  # d v = pᵀ do
        d_p *= mask
    else:
        d_v = tl.dot(tl.trans(p.to(v.dtype)), d_o)
    d_s = p * (d_p - tl.sum(p * d_p, 1)[:, None]) * (SIZE**-0.5)
    d_q = tl.dot(d_s.to(q.dtype), k)  # d q = ds k
    d_k = tl.dot(tl.trans(d_s.to(q.dtype)), q)  # d k = dsᵀ q
    to = d_qkv + window * time * (3 * WIDTH) + t[:, None] * (3 * WIDTH) + column[None, :]
    d_bias += (window // windows) * grad_stride + column
    _put(d_q, to, d_bias, inside)
    _put(d_k, to + WIDTH, d_bias + WIDTH, inside)
    _put(d_v, to + 2 * WIDTH, d_bias + 2 * WIDTH, inside)


@jit
def _put(d_part, to, d_bias, inside):
    """Store ∂q, ∂k or ∂v, `[TIME, SIZE]`, and add its sum to the gradient of the bias."""
    tl.store(to, d_part.to(to.dtype.element_ty), mask=inside)
    tl.atomic_add(d_bias, tl.sum(d_part, 0), sem="relaxed")
