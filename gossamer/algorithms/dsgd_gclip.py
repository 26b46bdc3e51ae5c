"""DSGD-GClip: DSGD with ℓ2 clipping of each node's gradient."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Order, Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import clip_factor, descend, is_clipped


@dataclass(frozen=True)
class DSGDGClip(Algorithm[Stateless]):
    """DSGD with every node's gradient clipped to a fixed length.

    xᵗ⁺¹ = W (xᵗ − α gᵗ min(1, τ/‖gᵗ‖))                     α = `lr`, τ = `clip`

    It is the strongest baseline of the paper's Transformer study. In the paper's table of methods,
    nodes mix before they step, W xᵗ − α clip(gᵗ, τ). This is `order="combine-then-adapt"`.
    """

    label: ClassVar[str] = "DSGD-GClip"

    lr: StepSize
    clip: Positive
    order: Order = "adapt-then-combine"

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Clipped gradient step, then mix."""
        scale = self.lr * clip_factor(grad, self.clip)  # α min(1, τ/‖gᵗ‖)
        return descend(x, scale, grad, mix, self.order), state

    def info(self, t: int, x: Tensor, grad: Tensor, state: Stateless) -> dict[str, Tensor]:
        """`clipped` is 1 where ‖gᵗ‖ > τ and 0 elsewhere.

        Its average over the nodes is the share of gradients that are clipped.
        """
        return {"clipped": is_clipped(grad, self.clip)}
