"""Heterogeneous quadratics with a known optimum: Claim 1, theory and tests."""

import hashlib
from typing import Any

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.problems.problem import Problem, require_nodes
from gossamer.seeding import stream


class Quadratic(Problem):
    """f_i(x) = ½ Σ_k a_ik (x_k − c_ik)², node i pulling towards its own centre c_i.

    `centers` c and `curvatures` a are `(nodes, dim)`; the curvatures default to 1. The optimum
    solves Σ_i a_ik (x_k − c_ik) = 0 in every coordinate, L = max a, and with ā = (1/n) Σ_i a_i

        f(x) = f_* + ½ Σ_k ā_k (x_k − x*_k)².

    >>> problem = Quadratic(torch.tensor([[0.0], [0.0], [3.0], [3.0]]))   # Claim 1 with n = 4
    >>> problem.optimum, problem.smoothness, problem.minimum
    (tensor([1.5000], dtype=torch.float64), 1.0, 1.125)
    """

    optimum: Tensor
    minimum: float
    smoothness: float

    def __init__(
        self, centers: Tensor, curvatures: Tensor | None = None, *, start: Tensor | None = None
    ) -> None:
        require(centers.ndim == 2, "centers", f"shape {tuple(centers.shape)}", "shape (nodes, dim)")
        self.num_nodes, self.dim = centers.shape
        require_nodes(self.num_nodes)
        require(bool(centers.isfinite().all()), "centers", "NaN or infinite entries", "finite ones")
        self._centers = centers.double()
        self._curvatures = torch.ones_like(self._centers)
        if curvatures is not None:
            shape = f"shape {tuple(curvatures.shape)}"
            require(curvatures.shape == centers.shape, "curvatures", shape, "the shape of centers")
            positive = bool(((curvatures > 0) & curvatures.isfinite()).all())
            require(positive, "curvatures", float(curvatures.min()), "finite numbers > 0")
            self._curvatures = curvatures.double()
        self.start = torch.zeros(self.dim).double() if start is None else start.double()
        shape = f"shape {tuple(self.start.shape)}"
        require(self.start.shape == (self.dim,), "start", shape, f"shape ({self.dim},)")
        self._curvature = self._curvatures.mean(0)
        self.optimum = (self._curvatures * self._centers).mean(0) / self._curvature
        at_optimum = self.local_loss(self.optimum.expand(self.num_nodes, 1, self.dim))
        self.minimum = float(at_optimum.mean())
        self.smoothness = float(self._curvatures.max())

    @classmethod
    def random(
        cls,
        num_nodes: int,
        dim: int,
        *,
        condition: float = 10.0,
        spread: float = 1.0,
        seed: int = 0,
    ) -> "Quadratic":
        """Centres ~ N(0, spread² I) and curvatures spaced log-uniformly in [1/condition, 1].

        >>> Quadratic.random(5, 3).optimum.shape
        torch.Size([3])
        """
        require(condition >= 1, "condition", condition, "a number ≥ 1")
        generator = stream("quadratic", seed)
        centers = spread * torch.randn(num_nodes, dim, generator=generator, dtype=torch.float64)
        exponent = torch.rand(num_nodes, dim, generator=generator, dtype=torch.float64)
        return cls(centers, condition**-exponent)

    def local_loss(self, x: Tensor) -> Tensor:
        """½ Σ_k a_ik (x_k − c_ik)²."""
        offset = x - self._centers[:, None]
        return 0.5 * (self._curvatures[:, None] * offset * offset).sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        """a_i ⊙ (x − c_i)."""
        return self._curvatures[:, None] * (x - self._centers[:, None])

    def loss(self, points: Tensor) -> Tensor:
        """f_* + ½ Σ_k ā_k (x_k − x*_k)²."""
        offset = points - self.optimum
        return self.minimum + 0.5 * (self._curvature * offset * offset).sum(-1)

    def grad(self, points: Tensor) -> Tensor:
        """ā ⊙ (x − x*)."""
        return self._curvature * (points - self.optimum)

    def describe(self) -> dict[str, Any]:
        """Name, shape and a digest of the coefficients and the start."""
        content = torch.cat([self._centers, self._curvatures, self.start[None]])
        digest = hashlib.sha256(content.double().cpu().numpy().tobytes()).hexdigest()[:16]
        shape = {"num_nodes": self.num_nodes, "dim": self.dim}
        return {"name": "Quadratic", **shape, "digest": digest}
