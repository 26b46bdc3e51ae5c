"""ATC-Tracking: gradient tracking in the order of NEXT and SONATA."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.gt_dsgd import GTDSGD, GTDSGDState
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


@dataclass(frozen=True)
class ATCTracking(GTDSGD):
    """Gradient tracking that mixes the tracker before its update and the parameters after theirs.

    yᵗ = W yᵗ⁻¹ + gᵗ − gᵗ⁻¹                                 y⁰ = g⁰
    xᵗ⁺¹ = W (xᵗ − α yᵗ)                                    α = `lr`

    The method lies between DIGing, which mixes neither the new gradient nor the step, and GT-DSGD,
    which mixes both, as Aug-DGM and ATC-DIGing do.

    Reference: Di Lorenzo and Scutari, NEXT (2016); Scutari and Sun, SONATA (2019).
    """

    label: ClassVar[str] = "ATC-Tracking"

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTDSGDState, mix: Mix
    ) -> tuple[Tensor, GTDSGDState]:
        """Track, then descend along the tracker and mix."""
        y = mix.push(state.y) + grad - state.grad  # yᵗ = W yᵗ⁻¹ + gᵗ − gᵗ⁻¹
        x = mix.pull(minus(x, self.lr, y.to(x)))  # xᵗ⁺¹ = W (xᵗ − α yᵗ)
        return x, GTDSGDState(y, grad)
