"""Rates: their exponents, the steps to an accuracy, when nodes and networks matter, slope fits."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from gossamer.errors import require, whole
from gossamer.interval import POSITIVE, within
from gossamer.theory._bound import Bound, bound_at
from gossamer.theory.checks import require_lam, require_p
from gossamer.theory.constants import Constants
from gossamer.theory.rules import forgetting_exponent

MOST_STEPS = 2.0**500
"""Beyond this the search for a sufficient T gives up."""


def rate(p: float, *, p_known: bool = True) -> float:
    """The exponent r with which the bound falls in T, E‖∇f‖ = O(T^(−r)).

    For known p (Theorem 1) it is (p−1)/(3p−2), which is optimal, and for unknown p (Theorem 2) it
    is (p−1)/(2p). With 1 − β = T^(−e), what averaging leaves of the noise decays as T^(−e(1−1/p)),
    and the lag of the momentum as T^(−(1−e)/2). Theorem 1 chooses e such that both are equal.

    >>> rate(2.0), rate(2.0, p_known=False)
    (0.25, 0.25)
    >>> round(rate(1.45), 3), round(rate(1.45, p_known=False), 3)
    (0.191, 0.155)
    """
    require_p(p)
    return (p - 1) / (3 * p - 2) if p_known else (p - 1) / (2 * p)


def theorem_bound(constants: Constants, steps: float, *, p_known: bool = True) -> Bound:
    """The `bound` at the parameters of Theorem 1, or of Theorem 2 if `p_known` is False."""
    rule = constants.parameters(steps, p_known=p_known)
    return bound_at(constants, steps, rule.lr, rule.forgetting)


def steps_for(target: float, constants: Constants, *, p_known: bool = True) -> float:
    """The number of steps T at which `theorem_bound` falls to `target`.

    T is found by doubling and then by bisection, exactly up to 2^53 and with a relative error of
    about 1e-15 beyond. It is ∞ if 2^500 steps are not enough.

    >>> constants = Constants(
    ...     num_nodes=4, lam=0.0, smoothness=1.0, gap=1.0, grad_norm=1.0, stacked_grad_norm=2.0,
    ...     sigma=3.0, p=2.0,
    ... )
    >>> steps = steps_for(1.0, constants)
    >>> theorem_bound(constants, steps).total <= 1.0 < theorem_bound(constants, steps - 1).total
    True
    """
    within("target", target, POSITIVE)

    def reached(steps: float) -> bool:
        return theorem_bound(constants, steps, p_known=p_known).total <= target

    return _first_true(reached, 2.0)


def _first_true(reached: Callable[[float], bool], start: float) -> float:
    """The first power of two at which `reached`, then bisection down to the last step before."""
    high = start
    while not reached(high):
        high *= 2
        if high > MOST_STEPS:
            return math.inf
    low = high / 2
    while high > start and high - low > max(1.0, high * 1e-15):
        middle = math.floor((low + high) / 2)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def noise_to_drift(constants: Constants) -> float:
    """σ / (n^(1−1/p) √(LΔ0/(1−λ))), the ratio of the two leading terms of Theorem 1.

    If it is far above 1, the noise dominates the bound, and n nodes lower the bound by a factor of
    n^(1−1/p). If it is far below 1, more nodes hardly lower the bound. In Theorem 2 with p < 2, the
    noise dominates for all large enough T, whatever the network.

    >>> constants = Constants(
    ...     num_nodes=16, lam=0.0, smoothness=1.0, gap=1.0, grad_norm=1.0, stacked_grad_norm=4.0,
    ...     sigma=40.0, p=2.0,
    ... )
    >>> noise_to_drift(constants), useful_nodes(constants)
    (10.0, 1600.0)
    """
    drift = math.sqrt(constants.smoothness * constants.gap / (1 - constants.lam))
    return constants.sigma / (constants.num_nodes ** (1 - 1 / constants.p) * drift)


def useful_nodes(constants: Constants) -> float:
    """The number of nodes beyond which more nodes, at the same λ, hardly lower Theorem 1's bound.

    It is n = (σ/√(LΔ0/(1−λ)))^(p/(p−1)), for which `noise_to_drift` is 1.
    """
    exponent = constants.p / (constants.p - 1)
    return constants.num_nodes * _power(noise_to_drift(constants), exponent)


def lag_transient(num_nodes: int, lam: float, p: float | None = None) -> float:
    """The T up to which the step size α is set by the term "tracking" of `parameters`.

    It is T = (√n/(2(1−λ)))^(1/e) with e = `forgetting_exponent(p)`. For larger T the term
    "momentum" sets α. Then α and those leading terms of the bound that do not contain σ ("initial
    gap" and "momentum lag") depend on the network only through √(1−λ).

    >>> lag_transient(20, 0.967), lag_transient(20, 0.0)
    (4591.36..., 5.0...)
    """
    require_lam(lam)
    whole("num_nodes", num_nodes, 1)
    return _power(math.sqrt(num_nodes) / (2 * (1 - lam)), 1 / forgetting_exponent(p))


def noise_transient(num_nodes: int, lam: float, p: float, *, p_known: bool = True) -> float:
    """The T up to which the term "tracking noise" of the bound exceeds "averaged noise".

    They are equal, 2√2 σ √n (1/β − 1)/(1−λ)^(1/p) = 4√2 σ ((1−β)/n)^(1−1/p), if u = 1 − β solves
    u^(1/p)/(1−u) = 2 (1−λ)^(1/p) n^(1/p − 3/2). Since u = T^(−e) with e from `forgetting_exponent`,
    this is at T = u^(−1/e). For larger T the factor n^(1−1/p) by which n nodes reduce the noise can
    be seen.

    >>> noise_transient(4, 0.0, 2.0)               # u = (√2 − 1)²
    33.97...
    """
    require_lam(lam)
    whole("num_nodes", num_nodes, 1)
    require_p(p)
    ratio = 2 * (1 - lam) ** (1 / p) * num_nodes ** (1 / p - 1.5)
    forgetting = _solve_forgetting(ratio, p)
    return _power(1 / forgetting, 1 / forgetting_exponent(p if p_known else None))


def _solve_forgetting(ratio: float, p: float) -> float:
    """The u in (0, 1) with u^(1/p)/(1−u) = `ratio`, bisected: the left side grows with u."""
    low, high = (ratio / (1 + ratio)) ** p, min(1.0, ratio**p)
    for _ in range(60):
        middle = math.sqrt(low * high)
        below = middle ** (1 / p) < ratio * (1 - middle)
        low, high = (middle, high) if below else (low, middle)
    return low


def _power(base: float, exponent: float) -> float:
    """base^exponent, ∞ where that overflows."""
    try:
        return base**exponent
    except OverflowError:
        return math.inf


class Slope(NamedTuple):
    """A fitted power law: values ∝ x^slope."""

    slope: float
    """The exponent of the power law."""

    error: float
    """Standard error of the slope."""

    def __str__(self) -> str:
        return f"{self.slope:.3f} ± {self.error:.3f}"


def fit_slope(
    x: Sequence[float], values: Sequence[float] | Sequence[Sequence[float]] | Tensor
) -> Slope:
    """The slope of log values against log x by least squares, with its standard error.

    Args:
        x: at least 3 positive numbers, not all equal, such as numbers of steps T.
        values: either one per x, or `(x, seeds)` with the same seeds at every x. In the first case
            the error comes from the residuals. In the second the values are averaged over the
            seeds, and the error comes from leaving out one seed at a time (jackknife).

    >>> slope, error = fit_slope([1, 2, 4, 8], [8.0, 4.1, 2.0, 1.0])
    >>> round(slope, 3), round(error, 3)
    (-1.004, 0.009)
    """
    points, table = np.asarray(x, float), np.asarray(values, float)
    require(len(points) >= 3, "x", list(x), "at least 3 points", "2 points have no residual")
    require(len(table) == len(points), "values", f"{len(table)} rows", f"{len(points)}, one per x")
    for name, numbers in (("x", points), ("values", table)):
        finite = bool((numbers > 0).all() and np.isfinite(numbers).all())
        require(finite, name, "some not finite and positive", "finite positive numbers")
    require(points.min() < points.max(), "x", "equal points", "at least two different ones")
    log_x = np.log(points)
    weights = (log_x - log_x.mean()) / ((log_x - log_x.mean()) ** 2).sum()
    if table.ndim == 2:
        return _jackknife(weights, table)
    slope = float(weights @ np.log(table))
    residual = np.log(table) - np.log(table).mean() - slope * (log_x - log_x.mean())
    spread = math.sqrt(float(residual @ residual) / (len(log_x) - 2))
    return Slope(slope, spread * math.sqrt(float(weights @ weights)))


def _jackknife(weights: np.ndarray, table: np.ndarray) -> Slope:
    """Slope of the mean over seeds, and its error from leaving each seed out."""
    seeds = table.shape[1]
    require(seeds >= 2, "values", f"{seeds} seed", "at least 2 seeds", "or pass one value per x")
    without = (table.sum(1, keepdims=True) - table) / (seeds - 1)  # (x, seeds)
    slopes = weights @ np.log(without)
    error = math.sqrt((seeds - 1) * float(slopes.var()))
    return Slope(float(weights @ np.log(table.mean(1))), error)
