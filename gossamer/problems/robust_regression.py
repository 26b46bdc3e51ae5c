"""The paper's synthetic task: robust linear regression on tokens of unequal frequency."""

from typing import Any, SupportsIndex

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.problems.alignment import aligned
from gossamer.problems.curvature import steepest
from gossamer.problems.problem import Problem, as_call, require_nodes
from gossamer.seeding import stream

TUKEY = 4.6851
"""c, the biweight constant of 95 % efficiency under Gaussian errors."""

NUM_SAMPLES = 1000
"""By default, of all nodes together."""


class RobustRegression(Problem):
    """Tukey's biweight regression, by default on 1,000 samples with 20 binary features.

    The features mimic the presence of words (tokens) in a text: two occur with frequency 0.9, two
    with 0.5, the others with 0.1. The labels are y = X w* with w* ~ N(0, I). Node i holds a
    contiguous shard (X_i, y_i) of m_i samples; the m_i are as equal as possible. Its objective is

        f_i(w) = (1/m_i) Σ_k ℓ(y_ik − X_ik w),
        ℓ(r) = (c²/6) (1 − [1 − (r/c)²]³) for |r| ≤ c, c²/6 beyond;   ℓ'(r) = r [1 − (r/c)²]₊²,

    with Tukey's constant c = 4.6851. Since −0.8 ≤ ℓ'' ≤ 1, the objectives are nonconvex and
    L = max_i λ_max(X_iᵀX_i/m_i). The gradients use all samples of a node; heavy tails come from the
    noise that the simulator adds.

    Args:
        num_nodes: n.
        seed: seed of the features and of w*.
        num_samples: number of samples of all nodes together, at least one for each node.
        dim: number of features.

    >>> problem = RobustRegression(num_nodes=20, seed=0)
    >>> problem
    RobustRegression(num_nodes=20, seed=0, num_samples=1000, dim=20)
    >>> problem.optimum.shape, round(float(problem.loss(problem.optimum[None])), 12)
    (torch.Size([20]), 0.0)
    """

    def __init__(
        self,
        num_nodes: SupportsIndex = 20,
        seed: int = 0,
        *,
        num_samples: int = NUM_SAMPLES,
        dim: int = 20,
    ) -> None:
        num_nodes = require_nodes(num_nodes)
        found = f"{num_samples}{', the default' if num_samples == NUM_SAMPLES else ''}"
        need = f"at least one for each of the {num_nodes} nodes"
        require(num_samples >= num_nodes, "num_samples", found, need, f"e.g. {5 * num_nodes}")
        require(dim >= 4, "dim", dim, "an integer ≥ 4: two features at 0.9 and two at 0.5")
        self.num_nodes, self.seed, self.num_samples, self.dim = num_nodes, seed, num_samples, dim
        features, self.optimum = _tokens(num_samples, dim, seed)
        self._load(features, features @ self.optimum)
        self.start = torch.zeros(dim, dtype=torch.float64)
        self.minimum = 0.0

    def _load(self, features: Tensor, labels: Tensor) -> None:
        """Cut into shards, padded with zero rows (which add nothing), scaled so that c = 1."""
        sizes = [len(part) for part in labels.tensor_split(self.num_nodes)]
        count = torch.tensor(sizes, dtype=torch.float64)[:, None, None]
        shards = _padded(features.tensor_split(self.num_nodes))
        self.smoothness = steepest(shards, count[:, 0, 0])
        self._features = aligned(shards).mT / TUKEY  # (n, d, m): r/c = offset + w · features
        targets = _padded(labels[:, None].tensor_split(self.num_nodes))
        self._offset = -targets.mT / TUKEY  # (n, 1, m)
        self._one = torch.ones((), dtype=torch.float64)
        self._readout = aligned(shards) * (
            TUKEY / count
        )  # (n, m, d): back from residuals to gradients
        self._loss_weight = (TUKEY**2 / 6) / count[..., 0]  # (n, 1)

    def _residuals(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """r/c and [1 − (r/c)²]₊ for every node, point and sample: `(nodes, points, samples)`."""
        r = torch.baddbmm(self._offset, aligned(x), self._features)
        return r, torch.addcmul(self._one, r, r, value=-1).clamp_(min=0)

    def local_loss(self, x: Tensor) -> Tensor:
        """(1/m_i) Σ_k ℓ(y_ik − X_ik w)."""
        _, inside = self._residuals(x)
        return self._loss_weight * (1 - inside**3).sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        """(1/m_i) Σ_k ℓ'(X_ik w − y_ik) X_ik."""
        r, inside = self._residuals(x)
        slopes = torch.bmm(r.mul_(inside).mul_(inside), self._readout)
        return slopes if slopes.shape == x.shape else slopes[..., : self.dim].contiguous()

    def describe(self) -> dict[str, Any]:
        """Name and arguments."""
        return {"name": "RobustRegression", **self._arguments()}

    def __repr__(self) -> str:
        return as_call("RobustRegression", **self._arguments())

    def _arguments(self) -> dict[str, int]:
        sizes = {"num_samples": self.num_samples, "dim": self.dim}
        return {"num_nodes": self.num_nodes, "seed": self.seed, **sizes}


def _tokens(num_samples: int, dim: int, seed: int) -> tuple[Tensor, Tensor]:
    """The binary features X `(samples, dim)` and the true weights w* `(dim,)`."""
    frequency = torch.full((dim,), 0.1, dtype=torch.float64)
    frequency[:2], frequency[2:4] = 0.9, 0.5
    generator = stream("robust-regression", seed)
    uniform = torch.rand(num_samples, dim, generator=generator, dtype=torch.float64)
    weights = torch.randn(dim, generator=generator, dtype=torch.float64)
    return (uniform < frequency).double(), weights


def _padded(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
