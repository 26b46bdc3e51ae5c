"""MoTEF: momentum tracking, made for compressed messages (Islamov, Gao and Stich, 2025)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import ema, minus


class MoTEFState(NamedTuple):
    """The local momentum m and its tracker v."""

    m: Tensor
    v: Tensor


@dataclass(frozen=True)
class MoTEF(Algorithm[MoTEFState]):
    """DIGing that tracks momenta instead of gradients; made for compressed messages.

    mᵗ = β mᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, m⁻¹ = 0
    vᵗ = W vᵗ⁻¹ + mᵗ − mᵗ⁻¹                                 v⁻¹ = 0
    xᵗ⁺¹ = W xᵗ − α vᵗ                                      α = `lr`

    The network does the compression and error feedback: on `network.compressed(…)`, W z becomes
    z + γ (W − I) ĥ, where ĥ are the copies of z that neighbours hold, updated by compressed
    messages. With β = 0 the method is DIGing, or BEER if the network compresses messages.

    Reference: Islamov, Gao and Stich, Towards faster decentralized stochastic optimization with
    communication compression (2025).
    """

    label: ClassVar[str] = "MoTEF"
    tracker: ClassVar[str | None] = "v"

    lr: StepSize
    momentum: Fraction

    def init(self, x: Tensor) -> MoTEFState:
        """m⁻¹ = v⁻¹ = 0."""
        return MoTEFState(m=torch.zeros_like(x), v=total_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: MoTEFState, mix: Mix
    ) -> tuple[Tensor, MoTEFState]:
        """Update the momentum, track it, then mix and descend along the tracker."""
        m = ema(state.m, grad, self.momentum)  # mᵗ = β mᵗ⁻¹ + (1−β) gᵗ
        v = mix.push(state.v) + m - state.m  # vᵗ = W vᵗ⁻¹ + mᵗ − mᵗ⁻¹
        x = minus(mix.pull(x), self.lr, v.to(x))  # xᵗ⁺¹ = W xᵗ − α vᵗ
        return x, MoTEFState(m, v)
