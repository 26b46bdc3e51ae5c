"""Momentum Tracking: heavy-ball momentum that the network tracks (Takezawa et al., 2023)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import minus


class MomentumTrackingState(NamedTuple):
    """The momentum u and its tracker y."""

    u: Tensor
    y: Tensor


@dataclass(frozen=True)
class MomentumTracking(Algorithm[MomentumTrackingState]):
    """DSGDm in which the nodes track the average of their momenta.

    uᵗ = β uᵗ⁻¹ + gᵗ                                        β = `momentum`, u⁻¹ = 0
    yᵗ = W yᵗ⁻¹ + uᵗ − uᵗ⁻¹                                 y⁻¹ = 0
    xᵗ⁺¹ = W xᵗ − α yᵗ                                      α = `lr`

    The authors define a correction cᵗ = uᵗ⁻¹ − W yᵗ⁻¹ instead of y, with yᵗ = uᵗ − cᵗ.

    Reference: Takezawa, Bao, Niwa, Sato and Yamada, Momentum tracking: momentum acceleration for
    decentralized deep learning on heterogeneous data (2023).
    """

    label: ClassVar[str] = "Momentum Tracking"
    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    momentum: Fraction = 0.9

    def init(self, x: Tensor) -> MomentumTrackingState:
        """u⁻¹ = y⁻¹ = 0, so that y⁰ = g⁰."""
        return MomentumTrackingState(u=torch.zeros_like(x), y=total_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: MomentumTrackingState, mix: Mix
    ) -> tuple[Tensor, MomentumTrackingState]:
        """Update the momentum, track it, then mix and descend."""
        u = self.momentum * state.u + grad  # uᵗ = β uᵗ⁻¹ + gᵗ
        y = mix.push(state.y) + u - state.u  # yᵗ = W yᵗ⁻¹ + uᵗ − uᵗ⁻¹
        x = minus(mix.pull(x), self.lr, y.to(x))  # xᵗ⁺¹ = W xᵗ − α yᵗ
        return x, MomentumTrackingState(u, y)
