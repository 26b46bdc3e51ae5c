"""Exact Diffusion, of which D², NIDS and Local Exact Diffusion are readings."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from gossamer.algorithms.admissible import Positive
from gossamer.algorithms.corrected import Corrected, CorrectedState, half_mixed
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import minus


@dataclass(frozen=True)
class ExactDiffusion(Corrected):
    """DSGD with a correction for differences between the nodes; it steps, then mixes.

    φᵗ = xᵗ − α gᵗ − β yᵗ                                   α = `lr`, β = `correction`, y⁰ = 0
    xᵗ⁺¹ = W̄ φᵗ                                             W̄ = (I + W)/2
    yᵗ⁺¹ = yᵗ + φᵗ − xᵗ⁺¹

    For β = 1 and constant α, eliminating y from two successive steps gives

        x¹ = W̄ (x⁰ − α g⁰),   xᵗ⁺² = W̄ (2 xᵗ⁺¹ − xᵗ − α (gᵗ⁺¹ − gᵗ)).

    This is Exact Diffusion as published. NIDS does not mix in its first step, and D² uses W instead
    of W̄. If the network communicates only in every K-th step, take β = 1/K. The method is then
    nearly Local Exact Diffusion, which uses W instead of W̄.

    Reference: Yuan, Ying, Zhao and Sayed, Exact diffusion (2019); Li, Shi and Yan, NIDS (2019);
    Tang, Lian, Yan, Zhang and Liu, D² (2018); Alghunaim, Local exact-diffusion (2024).
    """

    label: ClassVar[str] = "Exact Diffusion"

    correction: Positive = 1.0

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: CorrectedState, mix: Mix
    ) -> tuple[Tensor, CorrectedState]:
        """Descend along the gradient and y, mix, and add to y what mixing removed."""
        phi = minus(minus(x, self.lr, grad), self.correction, state.y)  # φᵗ = xᵗ − α gᵗ − β yᵗ
        x = half_mixed(mix, phi)  # xᵗ⁺¹ = W̄ φᵗ
        return x, CorrectedState(state.y + phi - x)  # yᵗ⁺¹ = yᵗ + φᵗ − xᵗ⁺¹
