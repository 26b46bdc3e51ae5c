"""What the theorems need, from what a user has: a problem, a noise law or noise samples."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.theory.checks import require_p

if TYPE_CHECKING:
    from gossamer.tails.samples import Samples

POWER_ITERATIONS = 100
DESCENT_STEPS = 200


@dataclass(frozen=True)
class Estimate:
    """A number, and how it is known, e.g. "exact" or "from 1000 samples"."""

    value: float
    how: str


def estimate_smoothness(problem: Problem, points: Tensor | None = None) -> Estimate:
    """L as the problem states it, else the largest curvature of any f_i at some points.

    The curvature max_i ‖∇²f_i(x)‖₂ comes from 100 power iterations on Hessian-vector products,
    (∇f_i(x + hv) − ∇f_i(x − hv))/2h, at all `points`, `(points, dim)`, or at the start if there are
    none. It is a lower bound of L. If the curvature grows on the way to the optimum, pass points
    along that path.

    >>> import gossamer as gs
    >>> centers, curvatures = torch.zeros(2, 1), torch.tensor([[1.0], [3.0]])
    >>> estimate_smoothness(gs.Quadratic.from_centers(centers, curvatures))
    Estimate(value=3.0, how='known exactly')
    """
    if problem.smoothness is not None:
        return Estimate(problem.smoothness, "known exactly")
    where = "the start" if points is None else f"{len(points)} points"
    points = problem.start[None] if points is None else points
    how = f"largest curvature at {where}: L may be larger elsewhere"
    return Estimate(float(_curvature(problem, points).max()), how)


@torch.no_grad()
def _curvature(problem: Problem, points: Tensor) -> Tensor:
    """‖∇²f_i(x)‖₂ for every node and point, `(nodes, points)`."""
    x = points.expand(problem.num_nodes, *points.shape)
    h = torch.finfo(x.dtype).eps ** (1 / 3) * (1 + torch.linalg.vector_norm(points, dim=-1))
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x)
    for _ in range(POWER_ITERATIONS):
        v = torch.nn.functional.normalize(v, dim=-1)
        step = h[:, None] * v
        v = (problem.local_grad(x + step) - problem.local_grad(x - step)) / (2 * h[:, None])
    return torch.linalg.vector_norm(v, dim=-1)


@torch.no_grad()
def estimate_gap(problem: Problem) -> Estimate:
    """Δ0 = f(x⁰) − inf f; if inf f is unknown, f(x⁰), which is an upper bound if f ≥ 0.

    >>> import gossamer as gs
    >>> estimate_gap(gs.Quadratic.from_centers(torch.tensor([[0.0], [2.0]])))
    Estimate(value=0.5, how='known exactly')
    """
    loss = float(problem.loss(problem.start[None]))
    if problem.minimum is not None:
        return Estimate(loss - problem.minimum, "known exactly")
    require(loss > 0, "problem", f"f(x⁰) = {loss:g}", "a known minimum or f > 0", "set .minimum")
    return Estimate(loss, "upper bound: f(x⁰), as f ≥ 0 is assumed")


@torch.no_grad()
def estimate_distance(problem: Problem) -> Estimate:
    """‖x⁰ − x*‖, the distance to the optimum; if x* is unknown, how far gradient descent gets.

    Gradient descent then takes 200 steps x ← x − ∇f(x)/L, without noise and with L from
    `estimate_smoothness`. A step that would raise f is not taken, and the step size is halved. The
    descent may end short of a minimizer, so the distance may be underestimated.

    >>> import gossamer as gs
    >>> estimate_distance(gs.Quadratic.from_centers(torch.tensor([[0.0], [2.0]])))
    Estimate(value=1.0, how='known exactly')
    """
    start, optimum = problem.start[None], problem.optimum
    if optimum is not None:
        return Estimate(float((optimum - start).norm()), "known exactly")
    x, loss, step = start, problem.loss(start), 1 / estimate_smoothness(problem).value
    for _ in range(DESCENT_STEPS):
        ahead = x - step * problem.grad(x)
        below = problem.loss(ahead)
        if below <= loss:
            x, loss = ahead, below
        else:
            step /= 2
    how = f"{DESCENT_STEPS} steps of exact gradient descent: a lower estimate"
    return Estimate(float((x - start).norm()), how)


def admissible_p(noise: Noise) -> float:
    """An order p in (1, 2] for which the noise has a finite moment; 2 if the variance is finite.

    Otherwise p = 1 + 0.9 (α − 1) with α = `noise.tail_index`, because at the tail index itself the
    moment is infinite, and close to it very large. For t(1.5) and 1.5-stable noise it is 1.45.

    >>> import gossamer as gs
    >>> admissible_p(gs.StudentT(df=1.5)), admissible_p(gs.Gaussian())
    (1.45, 2.0)
    """
    return 2.0 if noise.has_moment(2) else 1 + 0.9 * (noise.tail_index - 1)


def estimate_sigma(noise: Noise, dim: int, p: float, num_nodes: int = 1) -> Estimate:
    """σ such that E‖ξ_i‖^p ≤ σ^p for the noise vectors ξ_i, of dimension d = `dim`, of all nodes i.

    If the scale of the noise differs between nodes, it is the σ of the node with the most noise. It
    is exact for Gaussian noise and for isotropic noise ξ = R G (with G standard normal and a random
    factor R): E‖R G‖^p = E R^p · 2^(p/2) Γ((d+p)/2)/Γ(d/2). For other noise with independent
    coordinates it is exact if d = 1 or p = 2, and otherwise an upper bound, because
    ‖ξ‖^p ≤ Σ_k |ξ_k|^p for p ≤ 2.

    >>> import gossamer as gs
    >>> sigma = estimate_sigma(gs.Gaussian(std=3.0), dim=4, p=2.0)
    >>> round(sigma.value, 12), sigma.how
    (6.0, 'exact')
    """
    require_p(p)
    below = f"an order with a finite moment, below {noise.tail_index:g}"
    require(noise.has_moment(p), "p", p, below, f"try {admissible_p(noise):g}")
    ones = torch.ones((), dtype=torch.float64).expand(num_nodes, dim)
    moment, how = noise.norm_moment(p, ones)
    return Estimate(moment ** (1 / p), how)


def estimate_sigma_from_samples(samples: "Samples", p: float) -> Estimate:
    """σ = (mean ‖ξ‖^p)^(1/p) of noise vectors `(samples, dim)`, after subtracting their mean.

    With heavy tails, the largest sample makes up most of the sum, so σ tends to grow with the
    number of samples.

    >>> estimate_sigma_from_samples(torch.tensor([[3.0], [-1.0], [1.0], [-3.0]]), 2.0).value
    2.23606...
    """
    from gossamer.tails.samples import as_array

    require_p(p)
    rows = as_array(samples)
    shape = f"shape {rows.shape}"
    require(rows.ndim == 2 and len(rows) > 1, "samples", shape, "shape (samples > 1, dim)")
    norms = np.linalg.norm(rows - rows.mean(0), axis=1)
    return Estimate(float((norms**p).mean() ** (1 / p)), f"from {len(rows)} samples")
