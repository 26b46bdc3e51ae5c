"""DSGD-Clip: decaying steps and a clipping level that changes with time (Sun and Chen, 2024)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Order, Positive, Real, StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import clip_factor, descend, is_clipped


@dataclass(frozen=True)
class DSGDClip(Algorithm[Stateless]):
    """DSGD with steps that fall as 1/t and a clipping level that changes with time.

    xᵗ⁺¹ = W (xᵗ − αₜ gᵗ min(1, τₜ/‖gᵗ‖))
    αₜ = α / (t+1)                                          α = `lr`
    τₜ = τ (t+1)^q                                          τ = `clip`, q = `clip_exponent`

    The paper prints q = +2/5; only q = −2/5 shows its figure's "stable but fails to reach the
    optimum", so the exponent is a field. The table prints W xᵗ − αₜ clip(gᵗ, τₜ);
    `order="combine-then-adapt"` runs that.

    Reference: Sun and Chen, Distributed stochastic strongly convex optimization under
    heavy-tailed noises (2024).
    """

    label: ClassVar[str] = "DSGD-Clip"

    lr: StepSize
    clip: Positive
    clip_exponent: Real = 0.4
    order: Order = "adapt-then-combine"

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Clipped gradient step of size α/(t+1), then mix."""
        lr = self.lr / (t + 1)  # αₜ = α/(t+1)
        clip = self.clip * (t + 1) ** self.clip_exponent  # τₜ = τ (t+1)^q
        return descend(x, lr * clip_factor(grad, clip), grad, mix, self.order), state

    def info(self, t: int, x: Tensor, grad: Tensor, state: Stateless) -> dict[str, Tensor]:
        """`clipped`: 1 where ‖gᵗ‖ > τₜ; over the nodes, the share of gradients that are clipped."""
        return {"clipped": is_clipped(grad, self.clip * (t + 1) ** self.clip_exponent)}
