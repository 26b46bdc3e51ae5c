"""Linear least squares on each node's samples, with its optimum."""

from typing import ClassVar

import torch
from torch import Tensor

from gossamer.problems.linear_model import LinearModel
from gossamer.problems.penalty import L2Penalty


class LeastSquares(LinearModel):
    """f_i(w) = (1/2m_i) Σ_k (a_ik · w − b_ik)² + penalty(w) with real labels b.

    Node i has m_i samples with features a_ik, the rows of A_i, and labels b_ik, the entries of b_i.

    Without a penalty, or with `gs.L2Penalty(λ)`, the optimum solves

        [(1/n) Σ_i A_iᵀA_i/m_i + λ I] w* = (1/n) Σ_i A_iᵀb_i/m_i

    and is known if this matrix is invertible. L = max_i λ_max(A_iᵀA_i/m_i) plus the L of the
    penalty.

    The arguments are those of `LinearModel`.

    >>> rows = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> problem = LeastSquares([(rows, torch.tensor([1.0, 0.0])), (rows, torch.tensor([3.0, 2.0]))])
    >>> problem.optimum, problem.minimum
    (tensor([2., 1.], dtype=torch.float64), 0.5)
    """

    curvature: ClassVar[float] = 1.0

    def _load_optimum(self) -> None:
        if not (self.penalty is None or isinstance(self.penalty, L2Penalty)):
            return
        weight = 0.0 if self.penalty is None else self.penalty.weight
        if weight == 0 and sum(self._sizes) < self.dim:
            return  # many minimizers
        rows = self._rows[..., : self.dim].flatten(0, 1)
        weighted = rows * (self._share / self.num_nodes).flatten()[:, None]
        matrix = weighted.mT @ rows + weight * torch.eye(self.dim, dtype=torch.float64)
        curvatures = torch.linalg.eigvalsh(matrix)
        if curvatures[0] <= 1e-10 * curvatures[-1]:
            return  # again many, or one that rounding would misplace
        right = -((self._share * self._offset) @ self._rows[..., : self.dim]).mean((0, 1))
        self.optimum = torch.linalg.solve(matrix, right)
        self.minimum = float(self.loss(self.optimum[None]))

    def scored(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows a and offsets −b, so that the scores are the residuals a · w − b."""
        return features, -labels

    def score_loss(self, score: Tensor) -> Tensor:
        """s²/2."""
        return score.square() / 2

    def score_slope(self, score: Tensor) -> Tensor:
        """s."""
        return score
