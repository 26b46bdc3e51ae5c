"""The quantity the theorems bound, measured."""

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.simulate import METRICS, Stack


@torch.no_grad()
def average_grad_norm(stack: Stack, horizons: Tensor, every: int = 1) -> Tensor:
    """(1/nT) Σ_{t<T} Σ_i ‖∇f(x_iᵗ)‖ of every run of the stack, `(runs,)`, each up to its own T.

    Runs leave the stack when they have reached their horizon, so that many horizons cost little
    more than the longest.

    Args:
        stack: runs at step 0.
        horizons: T of each run, `(runs,)`.
        every: evaluate the gradients at steps 0, every, 2·every, …; must divide the horizons.

    >>> import gossamer as gs
    >>> problem = gs.Quadratic(torch.tensor([[2.0]]))       # ∇f = x − 2, from 0 by steps of 1
    >>> stack = Stack(gs.GTNSGDm(1.0, 0.0), problem, gs.complete(1), None, seeds=[0, 1])
    >>> average_grad_norm(stack, torch.tensor([1, 3]))       # 2, and (2 + 1 + 0)/3
    tensor([2., 1.], dtype=torch.float64)
    """
    require(bool((horizons % every == 0).all()), "every", every, "a divisor of every horizon")
    total = stack.x.new_zeros(len(horizons))
    for end in horizons.unique().tolist():
        while stack.t < end:
            total[stack.runs] += METRICS["grad_norm"](stack)
            stack.advance(every)
        stack.keep(horizons[stack.runs] > end)
    return total * every / horizons
