"""DSGD-Clip: decaying steps and a clipping level that changes with time (Sun and Chen, 2024)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Order, Positive, Real, StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import clip_factor, descend, is_clipped, power


@dataclass(frozen=True)
class DSGDClip(Algorithm[Stateless]):
    """DSGD with steps that fall as 1/t and a clipping level that changes with time.

    xᵗ⁺¹ = W (xᵗ − αₜ gᵗ min(1, τₜ/‖gᵗ‖))
    αₜ = α / (t+1)                                          α = `lr`
    τₜ = τ (t+1)^q                                          τ = `clip`, q = `clip_exponent`

    The paper prints q = +2/5. It also says that the method remains "stable but fails to reach the
    optimum", which we see only with q = −2/5. So q is a hyper-parameter.

    In the paper's table of methods, nodes mix before they step, W xᵗ − αₜ clip(gᵗ, τₜ). This is
    `order="combine-then-adapt"`.

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
        clip = self.clip * power(t + 1, self.clip_exponent)  # τₜ = τ (t+1)^q
        return descend(x, lr * clip_factor(grad, clip), grad, mix, self.order), state

    def info(self, t: int, x: Tensor, grad: Tensor, state: Stateless) -> dict[str, Tensor]:
        """`clipped` is 1 where ‖gᵗ‖ > τₜ and 0 elsewhere.

        Its average over the nodes is the share of gradients that are clipped.
        """
        return {"clipped": is_clipped(grad, self.clip * power(t + 1, self.clip_exponent))}
