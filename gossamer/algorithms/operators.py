"""The nonlinear maps of the methods; every norm is over the last axis, the parameters of a node."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Order, Scalar
from gossamer.algorithms.mixing import Mix

BLOCK = 65536
"""Numbers of a long vector that a thread of a CPU computes with at once."""


def ema(old: Tensor, new: Tensor, momentum: Scalar) -> Tensor:
    """β·old + (1 − β)·new with β = `momentum`, computed in one pass.

    >>> ema(torch.tensor([1.0]), torch.tensor([2.0]), 0.75)
    tensor([1.2500])
    """
    return torch.lerp(new, old, momentum)


def minus(x: Tensor, scale: Scalar, direction: Tensor) -> Tensor:
    """x − s·d with s = `scale` and d = `direction`, computed in one pass.

    >>> minus(torch.tensor([3.0, 4.0]), 0.5, torch.tensor([2.0, 4.0]))
    tensor([2., 2.])
    """
    if isinstance(scale, Tensor):
        return torch.addcmul(x, direction, scale, value=-1)
    return torch.sub(x, direction, alpha=scale)


def inverse_norm(y: Tensor) -> Tensor:
    """1/‖y‖, the factor that normalizes y, with 1/0 := 0 and no ε.

    >>> y = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> inverse_norm(y) * y
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    return inverse(norm(y))


def norm(y: Tensor) -> Tensor:
    """‖y‖, with the last axis kept."""
    return torch.linalg.vector_norm(y, dim=-1, keepdim=True)


def inverse(length: Tensor) -> Tensor:
    """1/ℓ with ℓ = `length`, where 1/0 := 0.

    >>> inverse(torch.tensor([4.0, 0.0]))
    tensor([0.2500, 0.0000])
    """
    return length.reciprocal().nan_to_num(nan=torch.nan, posinf=0.0)


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """base^exponent; with tensors the same bits however many there are, unlike `torch.pow`.

    >>> power(4, torch.tensor([[0.5], [1.0]]))
    tensor([[2.],
            [4.]])
    """
    if not isinstance(exponent, Tensor):
        return base**exponent
    return torch.exp(exponent * torch.log(torch.zeros_like(exponent) + base))


def clip_factor(g: Tensor, clip: Scalar) -> Tensor:
    """min(1, τ/‖g‖) with τ = `clip`, the factor that shortens g to the length τ if it is longer.

    >>> g = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    >>> clip_factor(g, 1.0) * g
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    return (clip / norm(g)).clamp(max=1.0)


def is_clipped(g: Tensor, clip: Scalar) -> Tensor:
    """1 where ‖g‖ > τ, else 0, with τ = `clip`; the result lacks the last axis of g.

    >>> is_clipped(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([1., 0.])
    """
    return (clip_factor(g, clip) < 1).to(g.dtype).squeeze(-1)


def clip_components(g: Tensor, clip: Scalar) -> Tensor:
    """g with each coordinate clamped to [−τ, τ], τ = `clip`.

    >>> clip_components(torch.tensor([3.0, -0.4]), 1.0)
    tensor([ 1.0000, -0.4000])
    """
    return torch.clamp(g, -clip, clip)  # type: ignore[arg-type]  # never a number and a tensor


def biclip(g: Tensor, floor: Scalar, clip: Scalar) -> Tensor:
    """g with each coordinate's size clamped to [d, u], d = `floor` and u = `clip`; 0 stays 0.

    >>> biclip(torch.tensor([3.0, -0.01, 0.0, -0.4]), floor=0.1, clip=1.0)
    tensor([ 1.0000, -0.1000,  0.0000, -0.4000])
    """
    return g.sign() * g.abs().clamp(min=floor).clamp(max=clip)  # one may be a number alone


def smooth_clip(z: Tensor, scale: Scalar, clip: Scalar) -> Tensor:
    """c · z / √(z² + τ) for each coordinate, with c = `scale` and τ = `clip`; at most c in size.

    >>> smooth_clip(torch.tensor([0.0, 3.0, 1e6]), scale=2.0, clip=16.0)
    tensor([0.0000, 1.2000, 2.0000])
    """
    floor = torch.as_tensor(clip, dtype=z.dtype, device=z.device)
    return z * torch.addcmul(floor, z, z).rsqrt_() * scale


class Tracked(NamedTuple):
    """What `estimate_and_track` returns."""

    v: Tensor
    """The average of the gradients."""

    y: Tensor
    """The tracker: a total."""

    d: Tensor
    """The tracker in the precision of v: a total has more digits than a direction needs."""

    length: Tensor | None
    """‖d‖, with the last axis kept; None unless everything was computed in one pass on a GPU."""


def estimate_and_track(
    v: Tensor, y: Tensor, grad: Tensor, momentum: Scalar, mix: Mix, order: Order
) -> Tracked:
    """vᵗ = β v + (1−β) g, then yᵗ = W (y + vᵗ − v), with β = `momentum` and g = `grad`.

    With `order="combine-then-adapt"`, yᵗ = W y + vᵗ − v. Returns vᵗ, yᵗ, d (yᵗ in the precision of
    v) and ‖d‖. On a GPU everything is computed in one pass if possible; otherwise, and on a CPU,
    None is returned in place of ‖d‖.

    >>> from gossamer.algorithms import Both
    >>> v, y, grad = torch.tensor([[1.0], [2.0], [3.0]])
    >>> estimate_and_track(v, y, grad, 0.5, Both(lambda z: z / 2), "adapt-then-combine")
    Tracked(v=tensor([2.]), y=tensor([1.5000]), d=tensor([1.5000]), length=None)
    """
    if order == "adapt-then-combine":
        at_once = _at_once(mix, "push_estimate", y, v, grad, momentum)
        if at_once is not None:
            return Tracked(*at_once)
    new = ema(v, grad, momentum)
    y = track(y, new, v, mix, order)
    return Tracked(new, y, y.to(v.dtype), None)


def track(y: Tensor, new: Tensor, old: Tensor, mix: Mix, order: Order) -> Tensor:
    """W(y + new − old), or W y + new − old if `order` is "combine-then-adapt".

    In both orders the sum of y over the nodes changes by the sum of new − old.

    >>> from gossamer.algorithms import Both
    >>> y, new, old = torch.tensor([3.0, 2.0, 1.0])
    >>> halve = Both(lambda z: z / 2)
    >>> track(y, new, old, halve, "adapt-then-combine")
    tensor(2.)
    >>> track(y, new, old, halve, "combine-then-adapt")
    tensor(2.5000)
    """
    if order == "combine-then-adapt":
        return changed(mix.push(y), new, old)
    return mix.push(changed(y, new, old))


def changed(y: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """y + new − old in the precision of y, block by block where y is one long vector on a CPU.

    A sum with a tensor of another precision would make a copy of that in the precision of y.

    >>> changed(torch.zeros(2).double(), torch.tensor([1.0, 2.0]), torch.ones(2))
    tensor([0., 1.], dtype=torch.float64)
    """
    long = y.ndim == 1 and len(y) > BLOCK
    if y.dtype == new.dtype or not long or y.device.type != "cpu":
        return (y + new).sub_(old)
    z = torch.empty_like(y)
    for total, arriving, leaving, out in in_blocks(y, new, old, z):
        torch.add(total, arriving, out=out).sub_(leaving)
    return z


def in_blocks(*vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The same parts of each `(dim,)`, of a size that a CPU keeps near; on a GPU the whole."""
    first = vectors[0]
    size = BLOCK * torch.get_num_threads() if first.device.type == "cpu" else max(1, len(first))
    return zip(*(z.split(size) for z in vectors), strict=True)


def descend(x: Tensor, scale: Scalar, direction: Tensor, mix: Mix, order: Order) -> Tensor:
    """W(x − s·d), or W x − s·d if `order` is "combine-then-adapt".

    Here s = `scale` and d = `direction`.

    >>> from gossamer.algorithms import Both
    >>> x, halve = torch.tensor(3.0), Both(lambda z: z / 2)
    >>> descend(x, 1.0, torch.tensor(1.0), halve, "adapt-then-combine")
    tensor(1.)
    >>> descend(x, 1.0, torch.tensor(1.0), halve, "combine-then-adapt")
    tensor(0.5000)
    """
    if order == "combine-then-adapt":
        return minus(mix.pull(x), scale, direction)
    at_once = _at_once(mix, "pull_move", x, scale, direction)
    return mix.pull(minus(x, scale, direction)) if at_once is None else at_once


def _at_once(mix: Mix, name: str, z: Tensor, *others: Scalar) -> Any:
    """What a mix makes of these in one pass on a GPU, if it has such a method and can."""
    method: Callable[..., Any] | None = getattr(mix, name, None) if z.is_cuda else None
    if method is None or not all(isinstance(one, Tensor) for one in others):
        return None
    return method(z, *others)
