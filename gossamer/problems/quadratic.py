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
    solves Σ_i a_ik (x_k − c_ik) = 0 in every coordinate, and L = max a.

    >>> problem = Quadratic(torch.tensor([[0.0], [0.0], [3.0], [3.0]]))   # Claim 1 with n = 4
    >>> problem.optimum, problem.smoothness, problem.minimum
    (tensor([1.5000], dtype=torch.float64), 1.0, 1.125)
    """

    def __init__(
        self, centers: Tensor, curvatures: Tensor | None = None, *, start: Tensor | None = None
    ) -> None:
        require(centers.ndim == 2, "centers", f"shape {tuple(centers.shape)}", "shape (nodes, dim)")
        self.num_nodes, self.dim = centers.shape
        require_nodes(self.num_nodes)
        self._centers = centers.double()
        self._curvatures = torch.ones_like(self._centers)
        if curvatures is not None:
            shape = f"shape {tuple(curvatures.shape)}"
            require(curvatures.shape == centers.shape, "curvatures", shape, "the shape of centers")
            require(bool((curvatures > 0).all()), "curvatures", float(curvatures.min()), "all > 0")
            self._curvatures = curvatures.double()
        self.start = torch.zeros(self.dim).double() if start is None else start.double()
        pull = (self._curvatures * self._centers).sum(0)
        self.optimum = pull / self._curvatures.sum(0)
        self.minimum = float(self.loss(self.optimum[None]))
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

    def describe(self) -> dict[str, Any]:
        """Name, shape and a digest of the coefficients."""
        content = torch.stack([self._centers, self._curvatures]).cpu().double().numpy().tobytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        shape = {"num_nodes": self.num_nodes, "dim": self.dim}
        return {"name": "Quadratic", **shape, "digest": digest}
