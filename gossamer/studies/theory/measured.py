"""The quantity the theorems bound, measured."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.algorithms import GTNSGDm
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation import METRICS, Stack
from gossamer.simulation._sweep import stack_settings
from gossamer.theory.estimate import estimate_gap, estimate_smoothness
from gossamer.theory.rules import parameters


@torch.no_grad()
def average_grad_norm(stack: Stack, horizons: Tensor, every: int = 1) -> Tensor:
    """The average of (1/n) Σ_i ‖∇f(x_iᵗ)‖ over each half of every run, `(2, runs)`.

    The theorems bound the mean of the two, (1/nT) Σ_{t<T} Σ_i ‖∇f(x_iᵗ)‖; the second half alone
    shows the level that noise sustains after the way from the start. Runs leave the stack at
    their horizon, so that many horizons cost little more than the longest. Without noise a run
    ends in a cycle of a few steps of length α, of which `every` > 1 may see always the same point.

    Args:
        stack: runs at step 0.
        horizons: T of each run, `(runs,)`.
        every: evaluate the gradients at steps 0, every, 2·every, …; 2·every must divide every T.

    >>> import gossamer as gs
    >>> problem = gs.Quadratic.from_centers(torch.tensor([[2.0]]))   # ∇f = x − 2, steps of 1
    >>> stack = Stack(gs.GTNSGDm(1.0, 0.0), problem, gs.complete(1), None, seeds=[0, 1])
    >>> average_grad_norm(stack, torch.tensor([2, 4]))
    tensor([[2.0000, 1.5000],
            [1.0000, 0.0000]], dtype=torch.float64)
    """
    divides = bool((horizons % (2 * every) == 0).all())
    require(divides, "every", every, "half of a divisor of every horizon")
    total = stack.x.new_zeros(2, len(horizons))
    for end in horizons.unique().tolist():
        while stack.t < end:
            half = (2 * stack.t >= horizons[stack.runs]).long()
            total[half, stack.runs] += METRICS["grad_norm"](stack)
            stack.advance(every)
        stack.keep(horizons[stack.runs] > end)
    return total * 2 * every / horizons


def measure_rule(
    problem: Problem,
    network: Network,
    noise: Noise | None,
    horizons: Sequence[int],
    seeds: Sequence[int],
    *,
    p: float | None = None,
    gap: float | None = None,
    every: int = 16,
) -> Tensor:
    """`average_grad_norm` of GT-NSGDm with a theorem's parameters, `(2, horizons, seeds)`.

    Theorem 1 with the given `p`, Theorem 2 without; every horizon has its own parameters and all
    are one stack. `gap` is the Δ0 that the rule is told, by default that of the problem. Any upper
    bound on f(x⁰) − f_* is admissible, also where the problem starts at its optimum: such a run
    has no way to go, and all that it shows is what noise and momentum do there.

    >>> import gossamer as gs
    >>> problem, noise = gs.Quadratic(4, 2), gs.Gaussian()
    >>> measure_rule(problem, gs.ring(4), noise, [32, 64, 128], range(5)).shape
    torch.Size([2, 3, 5])
    """
    L = estimate_smoothness(problem).value
    gap = estimate_gap(problem).value if gap is None else gap
    n, lam = network.num_nodes, network.lam
    rules = [parameters(T, num_nodes=n, lam=lam, smoothness=L, gap=gap, p=p) for T in horizons]
    settings = [{"lr": rule.lr, "momentum": rule.momentum} for rule in rules]
    algorithm = stack_settings(GTNSGDm, settings, copies=len(seeds))
    stack = Stack(algorithm, problem, network, noise, [*seeds] * len(horizons))
    ends = torch.tensor(horizons).repeat_interleave(len(seeds))
    return average_grad_norm(stack, ends, every).view(2, len(horizons), len(seeds))
