"""The peers' own forms of the methods, written for Gossamer so that iterates can be compared.

Ours are adapt-then-combine, x ← W (x − α …); the peers chose other orders and starts. All of them
move in exact steps, so two tools that run one form must agree to rounding.
"""

from dataclasses import dataclass

from torch import Tensor

import gossamer as gs
from gossamer.algorithms.algorithm import Mix, Stateless
from gossamer.algorithms.gt_dsgd import GTDSGDState


@dataclass(frozen=True)
class CombineThenAdapt(gs.DSGD):
    """decent-dp's DSGD: xᵗ⁺¹ = W xᵗ − α gᵗ."""

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        return mix.pull(x) - self.lr * grad, state


@dataclass(frozen=True)
class AugDGM(gs.GTDSGD):
    """decent-bench's: our GT-DSGD, but for y⁰ = g⁰ where ours begins with W g⁰."""

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTDSGDState, mix: Mix
    ) -> tuple[Tensor, GTDSGDState]:
        y = grad.clone() if t == 0 else mix.push(state.y + grad - state.grad)
        return mix.pull(x - self.lr * y), GTDSGDState(y, grad)
