"""EXTRA: the exact first-order algorithm of Shi, Ling, Wu and Yin (2015)."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.corrected import Corrected, CorrectedState, half_mixed
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


@dataclass(frozen=True)
class EXTRA(Corrected):
    """DSGD with a correction for differences between the nodes; it mixes, then steps.

    yᵗ⁺¹ = yᵗ + xᵗ − W̄ xᵗ                                   W̄ = (I + W)/2, y⁰ = 0
    xᵗ⁺¹ = W̄ xᵗ − α gᵗ − yᵗ⁺¹                               α = `lr`

    For constant α, subtracting two successive steps eliminates y and gives the published recursion
    with W̃ = W̄:

        x¹ = W x⁰ − α g⁰,   xᵗ⁺² = (I + W) xᵗ⁺¹ − W̃ xᵗ − α (gᵗ⁺¹ − gᵗ).

    Reference: Shi, Ling, Wu and Yin, EXTRA (2015).
    """

    label: ClassVar[str] = "EXTRA"

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: CorrectedState, mix: Mix
    ) -> tuple[Tensor, CorrectedState]:
        """Mix, add to y what mixing removed, then descend along the gradient and y."""
        mixed = half_mixed(mix, x)  # W̄ xᵗ
        y = state.y + x - mixed  # yᵗ⁺¹ = yᵗ + xᵗ − W̄ xᵗ
        return minus(mixed, self.lr, grad) - y, CorrectedState(y)  # xᵗ⁺¹ = W̄ xᵗ − α gᵗ − yᵗ⁺¹
