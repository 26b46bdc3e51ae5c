"""DSGD-CClip: DSGD with component-wise clipping of each node's gradient."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Order, Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import clip_components, descend


@dataclass(frozen=True)
class DSGDCClip(Algorithm[Stateless]):
    """DSGD with every coordinate of the gradient clamped to [−τ, τ].

    xᵗ⁺¹ = W (xᵗ − α clamp(gᵗ, −τ, τ))                      α = `lr`, τ = `clip`

    In the paper's table of methods, nodes mix before they step, W xᵗ − α clip(gᵗ, τ). This is
    `order="combine-then-adapt"`.
    """

    label: ClassVar[str] = "DSGD-CClip"

    lr: StepSize
    clip: Positive
    order: Order = "adapt-then-combine"

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Clamped gradient step, then mix."""
        clipped = clip_components(grad, self.clip)  # clamp(gᵗ, −τ, τ)
        return descend(x, self.lr, clipped, mix, self.order), state

    def info(self, t: int, x: Tensor, grad: Tensor, state: Stateless) -> dict[str, Tensor]:
        """`clipped` is the share of coordinates k with |gₖ| > τ."""
        return {"clipped": (grad.abs() > self.clip).to(grad.dtype).mean(-1)}
