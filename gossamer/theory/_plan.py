"""Planning a run: from a problem, a network and a noise to what the theorems make of them."""

from typing import TYPE_CHECKING

import torch

from gossamer.errors import require
from gossamer.kinds import require_network, require_problem
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.theory.assumed import AssumedNoise
from gossamer.theory.checks import require_steps
from gossamer.theory.constants import Constants
from gossamer.theory.coverage import clean, not_covered
from gossamer.theory.estimate import estimate_distance, estimate_gap, estimate_smoothness
from gossamer.theory.planned import Plan

if TYPE_CHECKING:
    from gossamer.tails.samples import Samples


def plan(
    problem: Problem,
    network: Network,
    steps: int,
    *,
    noise: Noise | None = None,
    samples: "Samples | None" = None,
    p: float | None = None,
    sigma: float | None = None,
) -> Plan:
    """Which step size and momentum to use for GT-NSGDm, and what the theorems promise.

    Describe the noise by `noise`, by `samples`, or by `p` and `sigma`. Without any of them, nothing
    is added to the problem's own gradients.

    If the gradients are of mini-batches (`problem.exact` is False), their noise counts, too. Its σ
    is estimated at the start by `estimate_sigma_from_batches`, and is added to that of `noise`. It
    may be larger elsewhere, and then the bounds do not hold. Unless `noise` or `p` says otherwise,
    p is 2, because mini-batches of finite data have a finite variance. If `samples` or `sigma` is
    given, nothing is measured, because they describe all noise of a gradient.

    Args:
        problem: the private objectives of the n nodes. L, Δ0, the gradients at the start and the
            distance to the optimum are computed or estimated from it.
        network: the network of the n nodes, with one doubly stochastic W in all rounds, as the
            theorems assume. Networks that lose or compress messages, skip rounds, change, are
            random or are not balanced are refused, because nothing is proved about them.
        steps: T.
        noise: the distribution of the noise that is added to the gradients.
        samples: noise vectors `(samples, dim)`, from which p and σ are estimated. If `sigma` is
            given, only p is estimated, and the vectors may have any dimension.
        p: the order of the noise's finite moment, in (1, 2]. With `noise` or `samples`, or on
            mini-batches, it replaces the p that follows from them.
        sigma: σ, the size of the noise, with E‖ξ‖^p ≤ σ^p. With `noise` or `samples`, or on
            mini-batches, it replaces the σ that follows from them.

    >>> import gossamer as gs
    >>> noise = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)
    >>> planned = plan(gs.RobustRegression(num_nodes=20), gs.ring(20, hops=2), 10_000, noise=noise)
    >>> planned.parameters["p known"].algorithm()
    GTNSGDm(lr=6.43...e-05, momentum=0.99659...)
    >>> planned.practical
    GTNSGDm(lr=0.00189..., momentum=0.9)
    """
    require_problem(problem)
    require_network(network)
    require_steps(steps)
    nodes = f"{network.num_nodes} nodes where the problem has {problem.num_nodes}"
    require(network.num_nodes == problem.num_nodes, "network", nodes, "the same number")
    _require_covered(network)
    assumed = AssumedNoise(problem, noise, samples, p, sigma)
    order = assumed.order()
    level = assumed.level(order.value)
    L, gap, distance = (
        estimate(problem) for estimate in (estimate_smoothness, estimate_gap, estimate_distance)
    )
    grads = _gradients_at_start(problem)
    constants = Constants(
        network.num_nodes, network.lam, L.value, gap.value, *grads, level.value, order.value
    )
    how = {"L": L.how, "Δ0": gap.how, "σ": level.how, "p": order.how, "λ": network.name}
    how |= {"‖x⁰ − x*‖": distance.how}
    return Plan(network, steps, constants, assumed.words(order, level), distance.value, how)


def _require_covered(network: Network) -> None:
    """Refuse a network that the theorems are not about, with what can be done instead."""
    why, plain = not_covered(network), clean(network)
    need = f"one doubly stochastic W in every round, which the theorems assume (here {why})"
    name = f"exponential({network.num_nodes})" if not_covered(plain) else plain.name
    way_out = f"plan on {name} and measure what {network.name} changes, e.g. by compare"
    require(not why, "network", network.name, need, way_out)


@torch.no_grad()
def _gradients_at_start(problem: Problem) -> tuple[float, float]:
    """‖∇f(x⁰)‖ and ‖∇F(1⊗x⁰)‖."""
    local = problem.local_grad(problem.start.expand(problem.num_nodes, 1, -1))[:, 0]
    return float(local.mean(0).norm()), float(local.norm())
