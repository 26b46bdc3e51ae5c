"""GT-DSGD: decentralized SGD with gradient tracking."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import minus


class GTDSGDState(NamedTuple):
    """The tracker y and the last gradient."""

    y: Tensor
    grad: Tensor


@dataclass(frozen=True)
class GTDSGD(Algorithm[GTDSGDState]):
    """Gradient tracking: every node follows the average gradient of the network.

    yᵗ = W (yᵗ⁻¹ + gᵗ − gᵗ⁻¹)                               y⁻¹ = g⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α yᵗ)                                    α = `lr`

    In the paper's table of methods, the second equation is printed as Σⱼ wᵢⱼ (xᵢ − α yⱼ), with xᵢ
    instead of xⱼ. The nodes would then never mix their parameters.

    Reference: Di Lorenzo and Scutari (2016); Xin, Pu, Nedić and Khan (2020).
    """

    label: ClassVar[str] = "GT-DSGD"
    tracker: ClassVar[str | None] = "y"

    lr: StepSize

    def init(self, x: Tensor) -> GTDSGDState:
        """y⁻¹ = g⁻¹ = 0."""
        return GTDSGDState(y=total_like(x), grad=torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTDSGDState, mix: Mix
    ) -> tuple[Tensor, GTDSGDState]:
        """Track, then descend along the tracker and mix."""
        y = mix.push((state.y + grad).sub_(state.grad))  # yᵗ = W (yᵗ⁻¹ + gᵗ − gᵗ⁻¹)
        x = mix.pull(minus(x, self.lr, y.to(x)))  # xᵗ⁺¹ = W (xᵗ − α yᵗ)
        return x, GTDSGDState(y, grad)
