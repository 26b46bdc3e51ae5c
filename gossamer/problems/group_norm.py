"""GroupNorm on a GPU in one pass, and its gradients in another.

A program holds a group of a sample's channels in registers; its values lie beside each other.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from torch import Tensor

from gossamer.triton_language import jit, padded, tl

MOST_NUMBERS = 16_384
"""Places for a group's values that a program has, at most; more would leave the registers."""


def group_places(x: Tensor, groups: int) -> tuple[int, int]:
    """Powers of two for a group's channels and for the values of each."""
    return padded(x.shape[1] // groups), padded(x[0, 0].numel())


def normalized(x: Tensor, weight: Tensor, bias: Tensor, groups: int, eps: float) -> Tensor:
    """`group_norm(x, groups, weight, bias, eps)`."""
    y = x.new_empty(x.shape)
    grid, sizes, warps = _launch(x, groups)
    _normalize[grid](x, weight, bias, y, eps, *sizes, num_warps=warps)
    return y


def norm_grads(
    grad: Tensor, x: Tensor, weight: Tensor, groups: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients in x, weight and bias where that in the output is `grad`."""
    d_x, sums = x.new_empty(x.shape), x.new_empty(len(x), 2, x.shape[1])
    grid, sizes, warps = _launch(x, groups)
    _normalize_grad[grid](x, weight, grad, d_x, sums, eps, *sizes, num_warps=warps)
    d_weight, d_bias = sums.sum(0)
    return d_x, d_weight, d_bias


def _launch(x: Tensor, groups: int) -> tuple[tuple[int, int], tuple[int, ...], int]:
    """The grid, the sizes that both kernels are given, and warps for 16 values per thread."""
    channels, area = group_places(x, groups)
    warps = min(16, max(1, channels * area // 512))
    return (len(x), groups), (x.shape[1] // groups, x[0, 0].numel(), channels, area), warps


@jit
def _group(channels, area, CHANNELS: tl.constexpr, AREA: tl.constexpr):
    """The program's channels, `[CHANNELS]`, where their values are, and which, both `[…, AREA]`."""
    channel, place = tl.arange(0, CHANNELS), tl.arange(0, AREA)[None, :]
    there = (channel < channels)[:, None] & (place < area)
    first = tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    where = (first * channels + channel)[:, None] * area + place
    return tl.program_id(1) * channels + channel, channel < channels, where, there


@jit
def _moments(x, there, size, eps):
    """(x − μ) / σ and 1/σ."""
    x = tl.where(there, x - tl.sum(x) / size, 0.0)
    inverse = tl.rsqrt(tl.sum(x * x) / size + eps)
    return x * inverse, inverse


@jit
def _normalize(x, weight, bias, y, eps, channels, area, CHANNELS: tl.constexpr, AREA: tl.constexpr):
    # x, y: (samples, groups · channels, area); weight, bias: (groups · channels)
    channel, own, where, there = _group(channels, area, CHANNELS, AREA)
    w = tl.load(weight + channel, mask=own, other=0.0)[:, None]
    b = tl.load(bias + channel, mask=own, other=0.0)[:, None]
    value = tl.load(x + where, mask=there, other=0.0)
    unit, _ = _moments(value, there, channels * area, eps)
    tl.store(y + where, unit * w + b, mask=there)


@jit
def _normalize_grad(
    x, weight, grad, d_x, sums, eps, channels, area, CHANNELS: tl.constexpr, AREA: tl.constexpr
):
    # x, grad, d_x: (samples, groups · channels, area); weight: (groups · channels)
    # sums: (samples, 2, groups · channels), each sample's share of ∂/∂weight and ∂/∂bias
    channel, own, where, there = _group(channels, area, CHANNELS, AREA)
    w = tl.load(weight + channel, mask=own, other=0.0)
    value = tl.load(x + where, mask=there, other=0.0)
    g = tl.load(grad + where, mask=there, other=0.0)
    unit, inverse = _moments(value, there, channels * area, eps)
    d_weight, d_bias = tl.sum(g * unit, 1), tl.sum(g, 1)
    all_channels = tl.num_programs(1) * channels
    sums += tl.program_id(0).to(tl.int64) * 2 * all_channels + channel
    tl.store(sums, d_weight, mask=own)
    tl.store(sums + all_channels, d_bias, mask=own)
    along, mean = tl.sum(d_weight * w) / (channels * area), tl.sum(d_bias * w) / (channels * area)
    tl.store(d_x + where, (g * w[:, None] - mean - unit * along) * inverse, mask=there)
