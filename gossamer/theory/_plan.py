"""Planning a run: from a problem, a network and a noise to what the theorems make of them."""

from typing import TYPE_CHECKING

import torch

from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, within
from gossamer.networks import Network
from gossamer.noise import CoordinateNoise, Noise
from gossamer.problems import Problem
from gossamer.theory.checks import require_steps
from gossamer.theory.constants import Constants
from gossamer.theory.coverage import clean, not_covered
from gossamer.theory.estimate import (
    Estimate,
    admissible_p,
    estimate_distance,
    estimate_gap,
    estimate_sigma,
    estimate_sigma_from_samples,
    estimate_smoothness,
)
from gossamer.theory.planned import Plan

if TYPE_CHECKING:
    from gossamer.tails.samples import Array, Samples


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

    Describe the noise by `noise`, by `samples`, or by `p` and `sigma`. Without any of them, the
    gradients are assumed to be free of noise.

    Args:
        problem: the private objectives of the n nodes. L, Δ0, the gradients at the start and the
            distance to the optimum are computed or estimated from it.
        network: the network of the n nodes, with one doubly stochastic W in all rounds, as the
            theorems assume. Networks that lose or compress messages, skip rounds, change, are
            random or are not balanced are refused, because nothing is proved about them.
        steps: T.
        noise: the distribution of the gradient noise.
        samples: noise vectors `(samples, dim)`, from which p and σ are estimated. If `sigma` is
            given, only p is estimated, and the vectors may have any dimension.
        p: the order of the noise's finite moment, in (1, 2]. With `noise` or `samples`, it replaces
            the p that follows from them.
        sigma: σ, the size of the noise, with E‖ξ‖^p ≤ σ^p. With `noise` or `samples`, it replaces
            the σ that follows from them.

    >>> import gossamer as gs
    >>> noise = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)
    >>> planned = plan(gs.RobustRegression(num_nodes=20), gs.ring(20, hops=2), 10_000, noise=noise)
    >>> planned.parameters["p known"].algorithm()
    GTNSGDm(lr=6.43...e-05, momentum=0.99659...)
    >>> planned.practical
    GTNSGDm(lr=0.00189..., momentum=0.9)
    """
    require_steps(steps)
    nodes = f"{network.num_nodes} nodes where the problem has {problem.num_nodes}"
    require(network.num_nodes == problem.num_nodes, "network", nodes, "the same number")
    _require_covered(network)
    order, level = _estimate_noise(problem, noise, samples, p, sigma)
    L, gap, distance = (
        estimate(problem) for estimate in (estimate_smoothness, estimate_gap, estimate_distance)
    )
    grads = _gradients_at_start(problem)
    constants = Constants(
        network.num_nodes, network.lam, L.value, gap.value, *grads, level.value, order.value
    )
    how = {"L": L.how, "Δ0": gap.how, "σ": level.how, "p": order.how, "λ": network.name}
    how |= {"‖x⁰ − x*‖": distance.how}
    words = _describe_noise(noise, samples, order, level)
    return Plan(network, steps, constants, words, distance.value, how)


def _require_covered(network: Network) -> None:
    """Refuse a network that the theorems are not about, with what can be done instead."""
    why, plain = not_covered(network), clean(network)
    need = f"one doubly stochastic W in every round, which the theorems assume (here {why})"
    name = f"exponential({network.num_nodes})" if not_covered(plain) else plain.name
    way_out = f"plan on {name} and measure what {network.name} changes, e.g. by compare"
    require(not why, "network", network.name, need, way_out)


def _estimate_noise(
    problem: Problem,
    noise: Noise | None,
    samples: "Samples | None",
    p: float | None,
    sigma: float | None,
) -> tuple[Estimate, Estimate]:
    """p and σ, from exactly one description of the noise."""
    require(noise is None or samples is None, "samples", "noise as well", "only one of them")
    if noise is None and samples is None:
        _require_both(p, sigma)
    order = _estimate_p(noise, samples, p)
    return order, _estimate_sigma(problem, noise, samples, order.value, sigma)


def _require_both(p: float | None, sigma: float | None) -> None:
    """Refuse half of a noise: a tail without a size, or a size without a tail."""
    way_out = "or describe the noise by its law, e.g. StudentT(1.5), or by samples"
    require(sigma is not None or p is None, "sigma", "none beside p", "σ as well as p", way_out)
    require(p is not None or sigma is None, "p", "none beside sigma", "p as well as σ", way_out)


def _estimate_p(noise: Noise | None, samples: "Samples | None", p: float | None) -> Estimate:
    """The order of the moment: as given, else from the samples, else from the law."""
    if p is not None:
        return Estimate(p, "given")
    if samples is not None:
        from gossamer.tails import diagnose

        diagnosis = diagnose(samples)
        return Estimate(diagnosis.suggested_p, f"from {diagnosis.num_samples} samples")
    if noise is not None:
        return Estimate(admissible_p(noise), "the noise has a finite p-th moment")
    return Estimate(2.0, "no noise")


def _estimate_sigma(
    problem: Problem,
    noise: Noise | None,
    samples: "Samples | None",
    p: float,
    sigma: float | None,
) -> Estimate:
    """The noise level: as given, else from the samples, else from the law, else none."""
    if sigma is not None:
        return Estimate(within("sigma", sigma, NONNEGATIVE), "given")
    if samples is not None:
        return estimate_sigma_from_samples(_of_dimension(problem.dim, samples), p)
    if noise is not None:
        return estimate_sigma(noise, problem.dim, p, problem.num_nodes)
    return Estimate(0.0, "no noise")


def _of_dimension(dim: int, samples: "Samples") -> "Array":
    """The samples, refused unless they are noise vectors of the problem's dimension."""
    from gossamer.tails.samples import as_array

    rows = as_array(samples)
    admissible = f"shape (samples, {dim}): noise of the problem's {dim} coordinates"
    way_out = "with sigma given, other samples can still tell p"
    require(rows.shape[1:] == (dim,), "samples", f"shape {rows.shape}", admissible, way_out)
    return rows


def _describe_noise(
    noise: Noise | None, samples: "Samples | None", order: Estimate, level: Estimate
) -> str:
    """Which noise the plan assumes, in words."""
    if noise is not None:
        return f"{noise}{' in every coordinate' * isinstance(noise, CoordinateNoise)}"
    if samples is not None:
        return "as in the measured samples"
    if level.value == 0:
        return "none, the gradients are exact"
    return f"p = {order.value:g} and σ = {level.value:g} as given"


@torch.no_grad()
def _gradients_at_start(problem: Problem) -> tuple[float, float]:
    """‖∇f(x⁰)‖ and ‖∇F(1⊗x⁰)‖."""
    local = problem.local_grad(problem.start.expand(problem.num_nodes, 1, -1))[:, 0]
    return float(local.mean(0).norm()), float(local.norm())
