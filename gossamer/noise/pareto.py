"""Centred Pareto noise: a one-sided power tail."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gossamer.interval import Interval
from gossamer.noise.coordinates import CoordinateNoise
from gossamer.noise.noise import draw_exponential, set_scale, set_within


@dataclass(frozen=True)
class Pareto(CoordinateNoise):
    r"""Pareto noise minus its mean: \(X = σ(Y - m)\) with \(P(Y > y) = y^{-a}\) on y ≥ 1.

    Here a = `tail_index`, σ = `scale` and \(m = a/(a-1)\). All large values are positive and most
    values are negative, so that the average of a sample is usually below the mean, 0. This makes
    one-sided noise hard for optimization methods. It is drawn by inversion, \(Y = e^{E/a}\) with E
    exponential. The absolute moment is

    $$E|X|^p = σ^p a\, m^{p-a} \Big[ \mathrm{B}(p+1, a-p)
      + \int_0^{\log m} (1 - e^{-s})^p e^{as} ds \Big] \quad (p < a),$$

    where the two terms are the parts above and below the mean; the integral is computed to a
    relative error of 1e-12.

    >>> round(Pareto(tail_index=3.0).moment(2), 12)
    0.75
    """

    tail_index: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        way_out = "at 1 or below the mean is infinite, so it cannot be subtracted; try 1.5"
        set_within(self, "tail_index", Interval(1, math.inf), way_out)
        set_scale(self)

    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """Samples of σ(e^{E/a} − m) with E exponential."""
        exponential = draw_exponential(size, generator)
        mean = 1 / (self.tail_index - 1)  # of Y − 1
        return self.scale * (torch.expm1(exponential / self.tail_index) - mean)

    def finite_moment(self, p: float) -> float:
        """E|X|^p for p < a: the part above the mean plus the part below it."""
        a = self.tail_index
        log_m = math.log1p(1 / (a - 1))
        above = math.exp(math.lgamma(p + 1) + math.lgamma(a - p) - math.lgamma(a + 1))
        below = _integrate(lambda s: (-np.expm1(-s)) ** p * np.exp(a * s), log_m)
        return self.scale**p * a * math.exp((p - a) * log_m) * (above + below)


def _integrate(function: Callable[[np.ndarray], np.ndarray], length: float) -> float:
    """∫₀^length of a function with at most power singularities at the ends (tanh–sinh rule)."""
    tau, step = np.linspace(-4, 4, 129, retstep=True)
    fraction = 1 / (1 + np.exp(-np.pi * np.sinh(tau)))
    weight = np.pi * np.cosh(tau) * fraction * (1 - fraction)
    return float(step * length * np.sum(weight * function(length * fraction)))
