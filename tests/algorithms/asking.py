"""Methods whose steps ask for more than their arguments."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Fraction, Local, Mix, Stateless, StepSize, total_like


class StormState(NamedTuple):
    d: Tensor
    y: Tensor
    x: Tensor


@dataclass(frozen=True)
class Storm(Algorithm[StormState]):
    """Gradient tracking of d^t = g(x^t; ξ^t) + (1 − a)(d^{t−1} − g(x^{t−1}; ξ^t))."""

    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    a: Fraction

    def init(self, x: Tensor) -> StormState:
        return StormState(torch.zeros_like(x), total_like(x), x)

    def step(self, t: int, x: Tensor, grad: Tensor, state: StormState, mix: Mix, local: Local):
        d = grad if t == 0 else grad + (1 - self.a) * (state.d - local.grad(state.x))
        y = mix.push(state.y + d - state.d)
        return mix.pull(x - self.lr * y.to(x)), StormState(d, y, x)


@dataclass(frozen=True)
class Dithered(Algorithm[Stateless]):
    """Random coordinates, a random length per node, and a random direction."""

    lr: StepSize

    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix, local: Local):
        kept = local.uniform(x) < 0.5
        length = local.uniform(x[..., :1])
        return mix.pull(x - self.lr * (length * kept * grad + local.normal(x))), state


@dataclass(frozen=True)
class Layerwise(Algorithm[Stateless]):
    """Every parameter tensor moves by α, along its own normalized gradient."""

    lr: StepSize

    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix, local: Local):
        axes = [tuple(range(-len(shape), 0)) for shape in local.shapes]
        pieces = zip(local.tensors(grad), axes, strict=True)
        unit = [g / torch.linalg.vector_norm(g, dim=dim, keepdim=True) for g, dim in pieces]
        return mix.pull(x - self.lr * local.vector(unit)), state
