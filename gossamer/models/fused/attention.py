"""Attention within short windows, one program holding a window of one head in registers."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.models.fused.launch import has_kernel, is_power_of_two, shared_memory
from gossamer.models.fused.mask import mask_seed
from gossamer.models.fused.one_head import attend, attend_grad
from gossamer.models.fused.slot import Slot
from gossamer.models.gpt import attention
from gossamer.triton_language import jit, padded, tl

LONGEST = 128
"""Most tokens of a window that a program holds."""


class Windows(NamedTuple):
    """What attention needs to know beside q, k and v."""

    time: int
    """Positions of a window."""

    heads: int
    causal: bool

    dropout: float = 0.0
    """On the attention weights."""

    @property
    def block(self) -> int:
        """Positions that a program holds: a power of two, as kernels need."""
        return max(16, padded(self.time))


def windowed_attention(qkv: Tensor, bias: Slot, windows: Windows) -> Tensor:
    """softmax(q kᵀ/√d) v with (q, k, v) = qkv + bias, within each window.

    `(models, positions, 3 width)` and `(models, 3 width)` → `(models, positions, width)`.
    """
    size = qkv.shape[-1] // 3 // windows.heads
    if has_kernel(qkv[..., :size]) and _fits(windows, size, qkv.device):
        return _Attention.apply(qkv, bias, windows)
    parts = (qkv + bias.tracked()[:, None]).unflatten(1, (-1, windows.time)).flatten(0, 1)
    attended = attention(parts, windows.heads, windows.causal, windows.dropout)
    return attended.view(*qkv.shape[:2], -1)


def attention_bytes(time: int, size: int) -> int:
    """Shared memory of the backward pass, which needs more than the forward pass.

    q, k, v and ∂out, `[time, size]` each, and the scores `[time, time]`, in bfloat16.

    >>> attention_bytes(128, 32)
    65536
    """
    return 2 * (4 * time * size + time * time)


def _fits(windows: Windows, size: int, device: torch.device) -> bool:
    known = windows.time <= LONGEST and is_power_of_two(size)
    return known and attention_bytes(windows.block, size) <= shared_memory(device)


class _Attention(torch.autograd.Function):
    """Keeps nothing but qkv: the backward pass makes the scores and the mask again."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Slot, windows: Windows) -> Tensor:
        seed = mask_seed(qkv.device) if windows.dropout > 0 else None
        ctx.save_for_backward(qkv, seed)
        ctx.bias, ctx.windows = bias, windows
        out = qkv.new_empty(*qkv.shape[:-1], qkv.shape[-1] // 3)
        grid, sizes = _launch(qkv, bias, windows)
        _forward[grid](qkv, bias.value, out, seed, windows.dropout, *sizes)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (qkv, seed), bias, windows = ctx.saved_tensors, ctx.bias, ctx.windows
        d_qkv, d_out = torch.empty_like(qkv), grads[0].contiguous()
        grid, sizes = _launch(qkv, bias, windows)
        _backward[grid](qkv, bias.value, d_out, d_qkv, bias.grad, seed, windows.dropout, *sizes)
        return d_qkv, None, None


def _launch(qkv: Tensor, bias: Slot, windows: Windows) -> tuple[tuple[int, int], tuple[int, ...]]:
    """The grid, and the sizes that both kernels are given."""
    width, count = qkv.shape[-1] // 3, qkv.shape[1] // windows.time
    sizes = (count, windows.time, bias.value.stride(0), bias.grad.stride(0), width)
    kind = (windows.block, windows.causal, windows.dropout > 0)
    return (len(qkv) * count, windows.heads), (*sizes, width // windows.heads, *kind)


@jit
def _load(qkv, bias, part, head, t, inside, WIDTH: tl.constexpr, SIZE: tl.constexpr):
    """q (part 0), k (1) or v (2) of one head in one window, with its bias, `[TIME, SIZE]`."""
    column = part * WIDTH + head * SIZE + tl.arange(0, SIZE)
    value = tl.load(qkv + t[:, None] * (3 * WIDTH) + column[None, :], mask=inside, other=0.0)
    return (value.to(tl.float32) + tl.load(bias + column)[None, :]).to(value.dtype)


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
    a = attend(q, k, v, seed, dropout, window, head, time, SIZE, TIME, CAUSAL, DROP, WIDTH // SIZE)
    column = head * SIZE + tl.arange(0, SIZE)
    tl.store(out + (window * time + t)[:, None] * WIDTH + column[None, :], a, mask=inside)


@jit
def _backward(
    qkv, bias, d_out, d_qkv, d_bias, seed, dropout, windows, time, stride, grad_stride,
    WIDTH: tl.constexpr, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr,
    DROP: tl.constexpr,
):  # fmt: skip
    # qkv, d_qkv: (all windows, time, 3 WIDTH); d_out: (all windows, time, WIDTH)
    # bias, d_bias: (models, 3 WIDTH), rows `stride`, `grad_stride` apart
    window, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    t = tl.arange(0, TIME)
    inside = (t < time)[:, None]
    bias += (window // windows) * stride
    qkv += window * time * (3 * WIDTH)
    q = _load(qkv, bias, 0, head, t, inside, WIDTH, SIZE)
    k = _load(qkv, bias, 1, head, t, inside, WIDTH, SIZE)
    v = _load(qkv, bias, 2, head, t, inside, WIDTH, SIZE)
    column = head * SIZE + tl.arange(0, SIZE)
    at = (window * time + t)[:, None]
    d_o = tl.load(d_out + at * WIDTH + column[None, :], mask=inside, other=0.0)
    d_q, d_k, d_v = attend_grad(
        q, k, v, d_o, seed, dropout, window, head, time,
        SIZE, TIME, CAUSAL, DROP, WIDTH // SIZE,
    )  # fmt: skip
    to = at * (3 * WIDTH) + column[None, :]
    d_bias += (window // windows) * grad_stride
    store_part(d_q, d_qkv + to, d_bias + column, inside)
    store_part(d_k, d_qkv + WIDTH + to, d_bias + WIDTH + column, inside)
    store_part(d_v, d_qkv + 2 * WIDTH + to, d_bias + 2 * WIDTH + column, inside)


@jit
def store_part(d_part, to, d_bias, inside):
    """Store ∂q, ∂k or ∂v, `[TIME, SIZE]`, add its sum to the gradient of the bias."""
    tl.store(to, d_part.to(to.dtype.element_ty), mask=inside)
    tl.atomic_add(d_bias, tl.sum(d_part, 0), sem="relaxed")
