"""NormalizedDSGD: the vanilla normalization that Claim 1 shows to fail."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import StepSize
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import inverse_norm, minus


@dataclass(frozen=True)
class NormalizedDSGD(Algorithm[Stateless]):
    """DSGD with every node's gradient normalized, which can fail (Claim 1 of the paper).

    xᵗ⁺¹ = W (xᵗ − α gᵗ/‖gᵗ‖)                               α = `lr`

    The average over the nodes moves along the sum of the *normalized* gradients, not along the
    normalized sum. If the nodes differ, the normalized gradients can cancel far from any stationary
    point, for every step size.
    """

    label: ClassVar[str] = "Normalized DSGD"

    lr: StepSize

    def init(self, x: Tensor) -> Stateless:
        """No state."""
        return Stateless()

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix
    ) -> tuple[Tensor, Stateless]:
        """Normalized gradient step, then mix."""
        x = mix.pull(minus(x, self.lr * inverse_norm(grad), grad))  # xᵗ⁺¹ = W (xᵗ − α gᵗ/‖gᵗ‖)
        return x, state
