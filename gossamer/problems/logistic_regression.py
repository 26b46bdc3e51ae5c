"""Logistic regression: two classes, told apart by a hyperplane."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.errors import require
from gossamer.problems.linear_model import LinearModel


class LogisticRegression(LinearModel):
    """f_i(w) = (1/m_i) Σ_k log(1 + exp(−b_ik a_ik · w)) + penalty(w) with labels b = ±1.

    Node i has m_i samples with features a_ik, the rows of A_i, and labels b_ik. Labels are given as
    0 and 1, or as −1 and 1; the samples of a node may all have the same label. The loss of a score
    s, ℓ(s) = log(1 + exp(−s)), has |ℓ''| ≤ 1/4, so that L = max_i λ_max(A_iᵀA_i/m_i)/4 plus the L
    of the penalty. With `gs.NonconvexPenalty`, this is a common nonconvex benchmark of
    decentralized optimization.

    The arguments are those of `LinearModel`.

    >>> rows, labels = torch.tensor([[1.0, 0.0], [2.0, 1.0]]), torch.tensor([0, 1])
    >>> problem = LogisticRegression([(rows, labels), (-rows, 1 - labels)])
    >>> problem
    LogisticRegression(num_nodes=2, dim=2, samples=4)
    >>> problem.loss(torch.zeros(1, 2).double())                                    # log 2
    tensor([0.6931], dtype=torch.float64)
    >>> problem.accuracy(torch.tensor([[1.0, 0.0], [-1.0, 3.0]]).double())
    tensor([0.5000, 1.0000], dtype=torch.float64)
    """

    curvature: ClassVar[float] = 0.25
    has_accuracy = True

    def scored(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows b·a and offsets 0, so that a score is a margin, positive if the answer is right."""
        values = set(labels.unique().tolist())
        way_out = "e.g. (labels == 3).long() for class 3 against the rest"
        two = values <= {0.0, 1.0} or values <= {-1.0, 1.0}
        shown = ", ".join(f"{value:g}" for value in sorted(values)[:12])
        require(two, "labels", shown, "0 and 1, or −1 and 1", way_out)
        sign = torch.where(labels > 0, 1.0, -1.0).to(features.dtype)
        return sign[:, None] * features, torch.zeros_like(labels)

    def score_loss(self, score: Tensor) -> Tensor:
        """log(1 + exp(−s))."""
        return -functional.logsigmoid(score)

    def score_slope(self, score: Tensor) -> Tensor:
        """−1/(1 + exp s)."""
        return -torch.sigmoid(-score)

    def accuracy(self, points: Tensor) -> Tensor:
        """The share of right answers on held-out data, or on all data if none is held out.

        An answer is right if its margin is positive. A margin of exactly 0 favours no class and
        counts as half right; at w = 0 all margins are 0.
        """
        if self.has_validation:
            return _right(self._held_out_scores(points)).mean(-1)
        right = _right(self._scores(points.expand(self.num_nodes, *points.shape)))
        return (right * (self._share > 0)).sum((0, 2)) / sum(self._sizes)


def _right(margin: Tensor) -> Tensor:
    """1 where the answer is right, 0 where it is wrong, 1/2 where there is none."""
    return (margin.sign() + 1) / 2
