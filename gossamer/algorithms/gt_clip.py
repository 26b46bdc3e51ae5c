"""GT-Clip: gradient tracking that clips, either what enters the tracker or what leaves it."""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import clip_factor, is_clipped, minus


class GTClipState(NamedTuple):
    """The tracker y and the last h, what it follows."""

    y: Tensor
    h: Tensor


@dataclass(frozen=True)
class GTClip(Algorithm[GTClipState]):
    """Gradient tracking that clips every node's gradient or its tracker.

    hᵗ = gᵗ min(1, τ/‖gᵗ‖)                                  τ = `clip`
    yᵗ = W (yᵗ⁻¹ + hᵗ − hᵗ⁻¹)                               y⁻¹ = h⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α yᵗ)                                    α = `lr`

    This is the method with `clipped="gradient"`. With `clipped="tracker"`, hᵗ is the gradient
    itself, and the step is α yᵗ min(1, τ/‖yᵗ‖). Clipping the gradients bounds the tracker. But if
    the nodes differ, some gradients are clipped more than others, and the method ends where the
    sum of the *clipped* gradients is 0. Clipping the tracker leads to the optimum, but a very large
    gradient first spreads through the network.
    """

    label: ClassVar[str] = "GT-Clip"
    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    clip: Positive
    clipped: Literal["gradient", "tracker"] = "gradient"

    def init(self, x: Tensor) -> GTClipState:
        """y⁻¹ = h⁻¹ = 0."""
        return GTClipState(y=total_like(x), h=torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTClipState, mix: Mix
    ) -> tuple[Tensor, GTClipState]:
        """Track the clipped gradients, or clip the tracker; then descend and mix."""
        h = clip_factor(grad, self.clip) * grad if self.clipped == "gradient" else grad
        y = mix.push(state.y + h - state.h)  # yᵗ = W (yᵗ⁻¹ + hᵗ − hᵗ⁻¹)
        d = y.to(x)
        lr = self.lr * clip_factor(d, self.clip) if self.clipped == "tracker" else self.lr
        return mix.pull(minus(x, lr, d)), GTClipState(y, h)  # xᵗ⁺¹ = W (xᵗ − α yᵗ)

    def info(self, t: int, x: Tensor, grad: Tensor, state: GTClipState) -> dict[str, Tensor]:
        """`clipped` is 1 where ‖gᵗ‖ > τ and 0 elsewhere.

        If the tracker is clipped instead of the gradient, it is 1 where ‖yᵗ⁻¹‖ > τ.
        """
        seen = grad if self.clipped == "gradient" else state.y.to(x)
        return {"clipped": is_clipped(seen, self.clip)}
