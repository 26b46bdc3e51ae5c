"""DIGing: gradient tracking that mixes what it had, then adds what is new."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.gt_dsgd import GTDSGD, GTDSGDState
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


@dataclass(frozen=True)
class DIGing(GTDSGD):
    """Gradient tracking that mixes parameters and tracker before it changes them.

    yᵗ = W yᵗ⁻¹ + gᵗ − gᵗ⁻¹                                 y⁰ = g⁰
    xᵗ⁺¹ = W xᵗ − α yᵗ                                      α = `lr`

    The nodes send xᵗ and yᵗ⁻¹, which they know before they compute the gradient. On a network with
    compressed messages the method is known as BEER.

    Reference: Nedić, Olshevsky and Shi, Achieving geometric convergence for distributed
    optimization over time-varying graphs (2017); Qu and Li (2018).
    """

    label: ClassVar[str] = "DIGing"

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTDSGDState, mix: Mix
    ) -> tuple[Tensor, GTDSGDState]:
        """Track, then mix and descend along the tracker."""
        y = mix.push(state.y) + grad - state.grad  # yᵗ = W yᵗ⁻¹ + gᵗ − gᵗ⁻¹
        x = minus(mix.pull(x), self.lr, y.to(x))  # xᵗ⁺¹ = W xᵗ − α yᵗ
        return x, GTDSGDState(y, grad)
