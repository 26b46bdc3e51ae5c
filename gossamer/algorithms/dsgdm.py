"""DSGDm: decentralized SGD with local heavy-ball momentum."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


class DSGDmState(NamedTuple):
    """The momentum u."""

    u: Tensor


@dataclass(frozen=True)
class DSGDm(Algorithm[DSGDmState]):
    """DSGD with heavy-ball momentum at every node.

    uᵗ = β uᵗ⁻¹ + gᵗ                                        β = `momentum`, u⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α uᵗ)                                    α = `lr`

    The momentum is a sum of gradients, so if these stay the same, a step is up to 1/(1−β) times as
    long as a step of DSGD. If the nodes differ, each momentum pulls towards its node's own optimum,
    which makes the bias larger than that of DSGD.

    Reference: Yu, Jin and Yang, On the linear speedup analysis of communication efficient momentum
    SGD for distributed non-convex optimization (2019).
    """

    label: ClassVar[str] = "DSGDm"
    state_is_own: ClassVar[bool] = True

    lr: StepSize
    momentum: Fraction = 0.9

    def init(self, x: Tensor) -> DSGDmState:
        """u⁻¹ = 0."""
        return DSGDmState(u=torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: DSGDmState, mix: Mix
    ) -> tuple[Tensor, DSGDmState]:
        """Momentum step, then mix."""
        u = self.momentum * state.u + grad  # uᵗ = β uᵗ⁻¹ + gᵗ
        return mix.pull(minus(x, self.lr, u)), DSGDmState(u)  # xᵗ⁺¹ = W (xᵗ − α uᵗ)
