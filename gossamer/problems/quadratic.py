"""Heterogeneous quadratics with a known optimum: Claim 1, theory and tests."""

import math
from typing import Any, Self, SupportsIndex

import torch
from torch import Tensor

from gossamer.digests import digest
from gossamer.errors import require, whole
from gossamer.interval import NONNEGATIVE, Interval, within
from gossamer.problems.problem import Problem, as_call, require_nodes
from gossamer.seeding import stream


class Quadratic(Problem):
    """f_i(x) = ½ Σ_k a_ik (x_k − c_ik)²: each node has its own centre c_i and curvatures a_i.

    Centres and curvatures are random, with c_i ~ N(0, spread² I) and a_ik log-uniform in
    [1/condition, 1]; `Quadratic.from_centers` makes a problem with given ones. The optimum x*
    solves Σ_i a_ik (x_k − c_ik) = 0 in every coordinate, L = max a, and with ā = (1/n) Σ_i a_i

        f(x) = f_* + ½ Σ_k ā_k (x_k − x*_k)².

    Args:
        num_nodes: n.
        dim: number of coordinates of x.
        condition: upper bound on the ratio of two curvatures.
        spread: standard deviation of the centres; with 0 all nodes have the same centre.
        seed: seed of the centres and curvatures.

    >>> problem = Quadratic(5, 3, spread=2.0)
    >>> problem
    Quadratic(num_nodes=5, dim=3, condition=10.0, spread=2.0, seed=0)
    >>> problem.optimum.shape
    torch.Size([3])
    """

    optimum: Tensor
    minimum: float
    smoothness: float
    _arguments: dict[str, float] | None = None  # of the random ones

    def __init__(
        self,
        num_nodes: SupportsIndex,
        dim: SupportsIndex,
        *,
        condition: float = 10.0,
        spread: float = 1.0,
        seed: int = 0,
    ) -> None:
        shape = require_nodes(num_nodes), whole("dim", dim, 1)
        within("condition", condition, Interval(1, math.inf, closed_low=True))
        within("spread", spread, NONNEGATIVE)
        generator = stream("quadratic", seed)
        centers = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
        exponent = torch.rand(shape, generator=generator, dtype=torch.float64)
        self._load(centers, condition**-exponent, torch.zeros(shape[1]))
        self._arguments = {"condition": condition, "spread": spread, "seed": seed}

    @classmethod
    def from_centers(
        cls, centers: Tensor, curvatures: Tensor | None = None, *, start: Tensor | None = None
    ) -> Self:
        """The problem with given centres c and curvatures a, both `(nodes, dim)`.

        By default the curvatures are 1 and the starting point is 0.

        >>> problem = Quadratic.from_centers(torch.tensor([[0.0], [0.0], [3.0], [3.0]]))
        >>> problem.optimum, problem.smoothness, problem.minimum
        (tensor([1.5000], dtype=torch.float64), 1.0, 1.125)
        """
        require(centers.ndim == 2, "centers", f"shape {tuple(centers.shape)}", "shape (nodes, dim)")
        require(bool(centers.isfinite().all()), "centers", "NaN or infinite entries", "finite ones")
        require_nodes(len(centers))
        curvatures = torch.ones_like(centers) if curvatures is None else curvatures
        shape = f"shape {tuple(curvatures.shape)}"
        require(curvatures.shape == centers.shape, "curvatures", shape, "the shape of centers")
        positive = bool(((curvatures > 0) & curvatures.isfinite()).all())
        require(positive, "curvatures", float(curvatures.min()), "finite numbers > 0")
        dim = centers.shape[1]
        start = torch.zeros(dim) if start is None else start
        require(start.shape == (dim,), "start", f"shape {tuple(start.shape)}", f"shape ({dim},)")
        problem = cls.__new__(cls)
        problem._load(centers, curvatures, start)
        return problem

    def _load(self, centers: Tensor, curvatures: Tensor, start: Tensor) -> None:
        self.num_nodes, self.dim = centers.shape
        self._centers, self._curvatures = centers.double(), curvatures.double()
        self.start = start.double()
        self._curvature = self._curvatures.mean(0)
        self.optimum = (self._curvatures * self._centers).mean(0) / self._curvature
        at_optimum = self.local_loss(self.optimum.expand(self.num_nodes, 1, self.dim))
        self.minimum = float(at_optimum.mean())
        self.smoothness = float(self._curvatures.max())

    def local_loss(self, x: Tensor) -> Tensor:
        """½ Σ_k a_ik (x_k − c_ik)²."""
        offset = x - self._centers[:, None]
        return 0.5 * (self._curvatures[:, None] * offset * offset).sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        """a_i ⊙ (x − c_i)."""
        return (x - self._centers[:, None]).mul_(self._curvatures[:, None])

    def loss(self, points: Tensor) -> Tensor:
        """f_* + ½ Σ_k ā_k (x_k − x*_k)²."""
        offset = points - self.optimum
        return self.minimum + 0.5 * (self._curvature * offset * offset).sum(-1)

    def grad(self, points: Tensor) -> Tensor:
        """ā ⊙ (x − x*)."""
        return self._curvature * (points - self.optimum)

    def describe(self) -> dict[str, Any]:
        """Name, sizes, and a digest of the coefficients and the starting point."""
        content = (self._centers, self._curvatures, self.start)
        shape = {"num_nodes": self.num_nodes, "dim": self.dim}
        return {"name": "Quadratic", **shape, "digest": digest(*(z.double() for z in content))}

    def __repr__(self) -> str:
        name, shape = type(self).__name__, {"num_nodes": self.num_nodes, "dim": self.dim}
        if self._arguments is None:
            return as_call(f"{name}.from_centers", **shape)
        return as_call(name, **shape, **self._arguments)
