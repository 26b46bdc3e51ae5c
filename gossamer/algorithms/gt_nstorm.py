"""GT-NSTORM: GT-NSGDm with variance reduction in place of momentum."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.local import Local
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import inverse_norm, minus


class GTNSTORMState(NamedTuple):
    """The local gradient estimator v, the tracker y and the last point x⁻."""

    v: Tensor
    y: Tensor
    x: Tensor


@dataclass(frozen=True)
class GTNSTORM(Algorithm[GTNSTORMState]):
    """GT-NSGDm with variance reduction in place of momentum; it needs two gradients per step.

    vᵗ = gᵗ + β (vᵗ⁻¹ − ∇f(xᵗ⁻¹; ξᵗ))                       β = `momentum`, v⁰ = g⁰
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = v⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α yᵗ/‖yᵗ‖)                               α = `lr`, 0/0 := 0

    Here gᵗ = ∇f(xᵗ; ξᵗ), so both gradients use the same sample ξᵗ. Momentum averages gradients at
    old points and is therefore biased. The second gradient corrects the average for the move from
    xᵗ⁻¹ to xᵗ.

    Reference: Cutkosky and Orabona, Momentum-based variance reduction in non-convex SGD (2019), for
    the estimator; Xin, Khan and Kar, A hybrid variance-reduced method for decentralized stochastic
    non-convex optimization (2021), for tracking this estimator, without normalization.
    """

    label: ClassVar[str] = "GT-NSTORM"
    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    momentum: Fraction

    def init(self, x: Tensor) -> GTNSTORMState:
        """v⁻¹ = y⁻¹ = 0; step 0 does not use x⁻¹."""
        return GTNSTORMState(v=torch.zeros_like(x), y=total_like(x), x=x)

    def step(  # type: ignore[override]
        self, t: int, x: Tensor, grad: Tensor, state: GTNSTORMState, mix: Mix, local: Local
    ) -> tuple[Tensor, GTNSTORMState]:
        """Estimate with a second gradient of the same sample, track, and move by α; then mix."""
        v = grad
        if t > 0:  # vᵗ = gᵗ + β (vᵗ⁻¹ − ∇f(xᵗ⁻¹; ξᵗ))
            v = grad + self.momentum * (state.v - local.grad(state.x))
        y = mix.push(state.y + v - state.v)  # yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)
        d = y.to(x)
        moved = mix.pull(minus(x, self.lr * inverse_norm(d), d))  # xᵗ⁺¹ = W (xᵗ − α yᵗ/‖yᵗ‖)
        return moved, GTNSTORMState(v, y, x)

    def info(self, t: int, x: Tensor, grad: Tensor, state: GTNSTORMState) -> dict[str, Tensor]:
        """`tracker_norm` is ‖yᵗ⁻¹‖, by which the previous step divided its tracker."""
        return {"tracker_norm": torch.linalg.vector_norm(state.y, dim=-1).to(x)}
