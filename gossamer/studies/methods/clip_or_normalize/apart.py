"""One objective, split over nodes that agree or differ: heterogeneity and nothing else."""

import math
from dataclasses import dataclass

import torch

from gossamer.problems import Quadratic
from gossamer.seeding import stream


@dataclass(frozen=True)
class Apart:
    """Quadratics whose centres lie some `spread` apart, and whose average is always the same.

    f_i(x) = ½ Σ_k a_ik (x_k − c_ik)² with c_i ~ N(0, spread² I) and a_ik log-uniform in [0.1, 1],
    started at distance 1 from the optimum in every coordinate. Seen from the optimum, f does not
    depend on the spread: f(x* + z) − f_* = ½ Σ_k ā_k z_k². Only the f_i do.
    """

    num_nodes: int
    dim: int
    spread: float
    seed: int

    def problem(self) -> Quadratic:
        """The problem."""
        shape, generator = (self.num_nodes, self.dim), stream("apart", self.seed)
        curvatures = 10 ** -torch.rand(shape, generator=generator, dtype=torch.float64)
        centers = self.spread * torch.randn(shape, generator=generator, dtype=torch.float64)
        optimum = Quadratic.from_centers(centers, curvatures).optimum
        return Quadratic.from_centers(centers, curvatures, start=optimum + 1)


def dissimilarity(problem: Quadratic) -> tuple[float, float]:
    """A and B with ‖∇f_i(x)‖² ≤ A² + B² ‖∇f(x)‖² at every x and every node i.

    ∇f_i(x) = ∇f_i(x*) + a_i ⊙ (x − x*) and ∇f(x) = ā ⊙ (x − x*), so that by (u + v)² ≤ 2u² + 2v²
    A = √2 max_i ‖∇f_i(x*)‖ and B = √2 max_ik a_ik/ā_k will do.

    >>> problem = Quadratic.from_centers(torch.tensor([[0.0], [2.0]]))
    >>> dissimilarity(problem)
    (1.41..., 1.41...)
    """
    at_optimum = problem.optimum.expand(problem.num_nodes, 1, -1)
    pulls = problem.local_grad(at_optimum)[:, 0]
    curvatures = problem.local_grad(at_optimum + 1)[:, 0] - pulls
    offset, growth = pulls.norm(dim=-1).max(), (curvatures / curvatures.mean(0)).max()
    return math.sqrt(2) * float(offset), math.sqrt(2) * float(growth)
