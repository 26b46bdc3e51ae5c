"""QG-DSGDm: quasi-global momentum (Lin et al., 2021)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, Positive
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import ema, minus


class QGDSGDmState(NamedTuple):
    """The quasi-global momentum m̂."""

    m_hat: Tensor


@dataclass(frozen=True)
class QGDSGDm(Algorithm[QGDSGDmState]):
    """DSGD whose momentum follows how far the mixed model moved, not the local gradients.

    mᵗ⁺¹ = β m̂ᵗ + gᵗ                                        β = `momentum`, m̂⁰ = 0
    xᵗ⁺¹ = W (xᵗ − η mᵗ⁺¹)                                  η = `lr`
    dᵗ = (xᵗ − xᵗ⁺¹) / η
    m̂ᵗ⁺¹ = μ m̂ᵗ + (1−μ) dᵗ                                  μ = `quasi_momentum`

    This is the method of Lin et al. The paper's table of methods prints dᵗ with the opposite sign.
    It also prints a wrong node index, with which the nodes would not mix their parameters.

    Reference: Lin, Karimireddy, Stich and Jaggi, Quasi-global momentum (2021).
    """

    label: ClassVar[str] = "QG-DSGDm"

    lr: Positive
    momentum: Fraction = 0.9
    quasi_momentum: Fraction = 0.9

    def init(self, x: Tensor) -> QGDSGDmState:
        """m̂⁰ = 0."""
        return QGDSGDmState(m_hat=torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: QGDSGDmState, mix: Mix
    ) -> tuple[Tensor, QGDSGDmState]:
        """Momentum step, mix, then update the momentum by how far x moved."""
        m = self.momentum * state.m_hat + grad  # mᵗ⁺¹ = β m̂ᵗ + gᵗ
        x_next = mix.pull(minus(x, self.lr, m))  # xᵗ⁺¹ = W (xᵗ − η mᵗ⁺¹)
        d = (x - x_next) / self.lr  # dᵗ = (xᵗ − xᵗ⁺¹)/η
        return x_next, QGDSGDmState(ema(state.m_hat, d, self.quasi_momentum))
