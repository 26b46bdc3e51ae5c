"""The noise of a problem's own mini-batches, measured at the start."""

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.problems import Problem
from gossamer.theory.checks import require_p
from gossamer.theory.estimate import Estimate

MINI_BATCHES = 500
"""How many of every node are measured."""

LARGEST_SHARE = 0.25
"""Of one mini-batch in a node's sum of squares, above which no variance is read off the sum."""


def estimate_sigma_from_batches(problem: Problem, p: float) -> Estimate:
    """σ of the problem's own mini-batches at the start, of the node with the most noise.

    For every node it is (mean ‖g − ∇f_i(x⁰)‖^p)^(1/p) over the gradients g of its first 500
    mini-batches. The theorems need a σ that holds wherever the nodes go. Away from the start the
    noise may be larger, so this σ is an estimate and not an upper bound. Besides, the theorems
    assume that the noise has mean 0 given the past, while the mini-batches of an epoch are drawn
    without replacement.

    If one mini-batch carries more than a quarter of a node's sum of squares, p = 2 is refused,
    because the variance may be infinite.

    >>> import gossamer as gs
    >>> data = [(torch.tensor([[1.0], [1.0]]), torch.tensor([2.0, 4.0]))]
    >>> estimate_sigma_from_batches(gs.LeastSquares(data, batch_size=1), 2.0)
    Estimate(value=1.0, how='500 mini-batches at x⁰; may be larger elsewhere')
    """
    require_p(p)
    norms = _noise_norms(problem)
    if p == 2:
        _require_variance(norms)
    sigma = float((norms**p).mean(0).max() ** (1 / p))
    return Estimate(sigma, f"{MINI_BATCHES} mini-batches at x⁰; may be larger elsewhere")


@torch.no_grad()
def _noise_norms(problem: Problem) -> Tensor:
    """‖g − ∇f_i(x⁰)‖ of every mini-batch and node, `(mini-batches, nodes)`."""
    x = problem.start.expand(problem.num_nodes, 1, -1)
    exact = problem.local_grad(x)
    noise = (problem.sample_grad(x, t, [0]) - exact for t in range(MINI_BATCHES))
    norms = [torch.linalg.vector_norm(one[:, 0], dim=-1, dtype=torch.float64) for one in noise]
    return torch.stack(norms)


def _require_variance(norms: Tensor) -> None:
    """Refuse noise whose sum of squares comes from one mini-batch."""
    squares = norms**2
    share = float((squares.amax(0) / squares.sum(0).clamp(min=1e-300)).max())
    found = f"a node where one of {MINI_BATCHES} has {share:.0%} of the sum of squares"
    way_out = "their tail may be heavy: give p below 2, or p and sigma, or samples"
    need = "mini-batches of finite variance"
    require(share <= LARGEST_SHARE, "problem", found, need, way_out)
