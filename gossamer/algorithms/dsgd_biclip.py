"""DSGD-BiClip: every coordinate of the gradient clipped from above and from below."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import biclip, minus


@dataclass(frozen=True)
class DSGDBiClip(Algorithm[Stateless]):
    """DSGD with the size of every gradient coordinate clipped from above and from below.

    xᵗ⁺¹ = W (xᵗ − α B(gᵗ))                                 α = `lr`
    B(g)ₖ = sign(gₖ) min(max(|gₖ|, d), u)                   d = `floor`, u = `clip`, sign(0) = 0

    Large coordinates are reduced as in DSGD-CClip. Small ones are enlarged, as in adaptive methods
    such as Adam, but without storing anything. With d = u the method is sign descent.

    Reference: Lee, Zaheer and Li, Efficient distributed optimization under heavy-tailed noise
    (2025), whose nodes clip their gradients in this way.
    """

    label: ClassVar[str] = "DSGD-BiClip"

    lr: StepSize
    clip: Positive
    floor: Positive

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Step along the gradient clipped from both sides, then mix."""
        d = biclip(grad, self.floor, self.clip)
        return mix.pull(minus(x, self.lr, d)), state  # xᵗ⁺¹ = W (xᵗ − α B(gᵗ))

    def info(self, t: int, x: Tensor, grad: Tensor, state: Stateless) -> dict[str, Tensor]:
        """The shares of coordinates k with |gₖ| > u (`clipped`) and 0 < |gₖ| < d (`raised`)."""
        size = grad.abs()
        raised = (size < self.floor) & (size > 0)
        return {
            "clipped": (size > self.clip).to(grad).mean(-1),
            "raised": raised.to(grad).mean(-1),
        }
