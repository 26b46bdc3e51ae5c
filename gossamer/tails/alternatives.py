r"""A power law against a lognormal and a stretched exponential on the same tail.

A tail of ratios \(Y = \log(X / u)\), X above the cut u, tells a power law from laws that have every
moment. With q the share of the samples above u, and up to the scale s > 0 of y = st,

| law of X | \(-\log P(Y > y)\) | its scale |
|---|---|---|
| power law \(x^{-α}\) | t | 1/α |
| lognormal | \(\log Q(z) - \log Q(z + t)\), Q(z) = q | σ |
| stretched exponential (Weibull) \(e^{-λx^τ}\) | \(\log\frac1q\,(e^t - 1)\) | 1/τ |

where Q is the upper tail of N(0, 1). Nothing but the scale is free. A lognormal cannot hold more
than all of the samples, so \(Q(z) \ge q\), and the smaller Q(z) the straighter its tail: with
equality it is as near to a power law as it can be. The stretched exponential likewise. Without that
bound both contain the power law as a limit, and no sample could ever speak for it.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import torch

from gossamer.tails._hill import log_excesses
from gossamer.tails.samples import Array

LEAST = 100
"""Samples above a cut below which the test is not made: its errors are Gaussian only for many."""

REJECTED = 2.326348
"""The 99 % point of N(0, 1): a law further than this from what it predicts is rejected."""

LARGEST_MISFIT = 1.308
"""The 99 % point of `PowerLawTest.misfit` if the tail is that of a power law."""

LOWER_END = 0.05
"""A law of norms counts from 0 or, since norms may never be near 0, from this quantile of them."""

DEPTHS, WEIGHTS = np.polynomial.laguerre.laggauss(64)
"""−log P(Y > y) is exponential under the true law: nodes and weights of means over it."""


class ScaleLaw(Protocol):
    """A law of y = st that is known up to the scale s; `share` is q above."""

    @staticmethod
    def at_depth(depth: Array, share: float) -> Array:
        """The t with −log P(Y > st) = `depth`."""

    @staticmethod
    def scale(y: Array, weights: Array | None, share: float) -> float:
        """The most likely s."""

    @staticmethod
    def log_density(t: Array, share: float) -> Array:
        """Of t, up to a constant that is the same for all laws."""


class PowerLaw:
    """t is exponential."""

    @staticmethod
    def at_depth(depth: Array, share: float) -> Array:
        """The depth itself."""
        return depth

    @staticmethod
    def scale(y: Array, weights: Array | None, share: float) -> float:
        """The mean."""
        return float(np.average(y, weights=weights))

    @staticmethod
    def log_density(t: Array, share: float) -> Array:
        """Of the exponential law."""
        return -t


class Lognormal:
    """z + t is a standard normal above z."""

    @staticmethod
    def at_depth(depth: Array, share: float) -> Array:
        """From the normal quantiles."""
        return _upper_quantile(share * np.exp(-depth)) - _upper_quantile(np.array(share))

    @staticmethod
    def scale(y: Array, weights: Array | None, share: float) -> float:
        """The positive root of s² = z s E[y] + E[y²], where the derivative is 0."""
        z = float(_upper_quantile(np.array(share)))
        first, second = (float(np.average(y**power, weights=weights)) for power in (1, 2))
        return (z * first + math.sqrt((z * first) ** 2 + 4 * second)) / 2

    @staticmethod
    def log_density(t: Array, share: float) -> Array:
        """Of the normal law, given that it is above z."""
        z = float(_upper_quantile(np.array(share)))
        density: Array = -((z + t) ** 2) / 2 - math.log(share * math.sqrt(2 * math.pi))
        return density


class StretchedExponential:
    """e^t − 1 is exponential of rate c = log 1/q."""

    @staticmethod
    def at_depth(depth: Array, share: float) -> Array:
        """log(1 + depth / c)."""
        quantiles: Array = np.log1p(depth / math.log(1 / share))
        return quantiles

    @staticmethod
    def scale(y: Array, weights: Array | None, share: float) -> float:
        """1/τ, where the mean of 1 + t − c t e^t at t = τy, which is concave in τ, is 0.

        Its tangent at τ = 0 meets 0 beyond the root, and so does 30 over the largest y; from
        there Newton's steps fall to the root.
        """
        rate, mean = math.log(1 / share), float(np.average(y, weights=weights))
        inverse = min(1 / ((rate - 1) * mean), 30 / float(y.max()))
        for _ in range(100):
            t = inverse * y
            growth = rate * np.exp(t)
            value = np.average(1 + t - t * growth, weights=weights)
            slope = np.average(y * (1 - growth * (1 + t)), weights=weights)
            inverse -= float(value / slope)
            if abs(value) < 1e-12:
                break
        return 1 / inverse

    @staticmethod
    def log_density(t: Array, share: float) -> Array:
        """Of Gompertz's law."""
        rate = math.log(1 / share)
        density: Array = math.log(rate) + t - rate * np.expm1(t)
        return density


@dataclass(frozen=True)
class PowerLawTest:
    """Whether a tail fits a power law, a lognormal or a stretched exponential, as four numbers.

    R is the log-likelihood of the power law minus that of another law. Three fields compare R with
    its expected value under one law, in standard errors. The field `lognormal` takes a lognormal as
    the other law and tells how far R is above the value expected for lognormal samples. The field
    `stretched_exponential` does the same with a stretched exponential. The field `power_law` tells
    how far R is above the value expected for power-law samples. R exists for each of the two other
    laws, and `power_law` is the lower of the two results.

    On log–log axes a power tail is straight. `lognormal` and `stretched_exponential` are large if
    the tail is too straight for these laws, and `power_law` is far below 0 if the tail is too
    curved for a power law.

    A tail may fit none of the three laws: e.g. Gaussian noise, of which every 100th sample is 50
    times as large. `misfit` is the distance of Kolmogorov and Smirnov between the tail and the
    power law, in the form of Stephens. For power-law samples it is about 0.7, however many there
    are.
    """

    lognormal: float
    stretched_exponential: float
    power_law: float
    misfit: float

    @property
    def alternatives_rejected(self) -> bool:
        """Whether the tail is too straight for a lognormal and for a stretched exponential.

        This means that `lognormal` and `stretched_exponential` are both above 2.33, the 99 %
        quantile of a standard normal law.
        """
        return min(self.lognormal, self.stretched_exponential) > REJECTED

    @property
    def power_law_rejected(self) -> bool:
        """Whether the tail is too curved for a power law, or differs from it in another way.

        The first means that `power_law` is below −2.33, the 1 % quantile of a standard normal law.
        The second means that `misfit` is above 1.308, which it is for 1 % of power-law samples.
        """
        return self.power_law < -REJECTED or self.misfit > LARGEST_MISFIT


def power_law_test(magnitudes: Array, k: int, correlation_time: float = 1.0) -> PowerLawTest:
    r"""Tests a power law, against a lognormal and a stretched exponential (Cox) and by itself.

    The n `magnitudes` must be in decreasing order. The test uses the `k` largest of them and
    compares laws of log(X/u), where X is one of these k and u is the (k+1)-th largest magnitude.
    Each law has one free parameter, its scale s: 1/α for a power law \(x^{-α}\), the standard
    deviation of log X for a lognormal, and 1/τ for a stretched exponential \(e^{-λx^τ}\). All else
    is determined by the share k/n of the magnitudes above u.

    Let ℓ be the log-likelihood of a law at its most likely scale. The log-likelihood ratio
    \(R = ℓ_{power} - ℓ_{other}\) is asymptotically Gaussian, whichever of the two laws is true. If
    one of them is true, the mean \(μ\) and the variance \(v\) of R per sample depend only on k/n,
    because a change of scale does not change R. So \((R - kμ) / \sqrt{kv}\) says how many standard
    errors R is above its expectation under this law.

    Let D be the largest distance between the distribution functions of the log(X/u) and of the
    exponential law with the same mean, which is that of a power law. By itself, the power law is
    judged by \((D - 0.2/k)(\sqrt{k} + 0.26 + 0.5/\sqrt{k})\).

    Each law is fitted twice: to the magnitudes, and to the magnitudes minus a constant, which is
    their 5 % quantile, or u/2 if that is less. Of the two fits, the one that gives the weaker
    evidence against the law is used. If samples depend on each other, the standard error
    \(\sqrt{kv}\) is multiplied by the square root of `correlation_time`, and the last number is
    divided by it.

    References: D. R. Cox, "Further results on tests of separate families of hypotheses", Journal
    of the Royal Statistical Society B 24 (1962); M. A. Stephens, "EDF statistics for goodness of
    fit and some comparisons", Journal of the American Statistical Association 69 (1974);
    A. Clauset, C. R. Shalizi and M. E. J. Newman, "Power-law distributions in empirical data",
    SIAM Review 51 (2009).
    """
    origins = {0.0, min(float(np.quantile(magnitudes, LOWER_END)), magnitudes[k] / 2)}
    tails = [log_excesses(magnitudes - origin, k) for origin in origins]
    share, widening = k / magnitudes.size, math.sqrt(correlation_time)

    def distances(null: type[ScaleLaw], other: type[ScaleLaw]) -> list[float]:
        return [_distance(y, null, other, share) / widening for y in tails]

    against_power = [distances(PowerLaw, law) for law in (Lognormal, StretchedExponential)]
    return PowerLawTest(
        lognormal=min(distances(Lognormal, Lognormal)),
        stretched_exponential=min(distances(StretchedExponential, StretchedExponential)),
        power_law=max(map(min, zip(*against_power, strict=True))),
        misfit=min(map(_misfit, tails)) / widening,
    )


def _misfit(y: Array) -> float:
    """The distance of y from the exponential law of its mean, by Kolmogorov, Smirnov, Stephens."""
    k, ranks = y.size, np.arange(y.size + 1) / y.size
    share_below = -np.expm1(-np.sort(y) / y.mean())
    distance = max((share_below - ranks[:-1]).max(), (ranks[1:] - share_below).max())
    return float((distance - 0.2 / k) * (math.sqrt(k) + 0.26 + 0.5 / math.sqrt(k)))


def _distance(y: Array, null: type[ScaleLaw], other: type[ScaleLaw], share: float) -> float:
    """(R − kμ) / √(kv) under `null`, R the power law's ratio over `other`."""
    mean, deviation = _expected(null, other, share)
    found = float(_log_ratios(y, None, other, share).mean())
    return (found - mean) * math.sqrt(y.size) / deviation


@cache
def _expected(null: type[ScaleLaw], other: type[ScaleLaw], share: float) -> tuple[float, float]:
    """μ and √v: mean and deviation of the log-ratio of one sample of `null`."""
    ratios = _log_ratios(null.at_depth(DEPTHS, share), WEIGHTS, other, share)
    mean = np.average(ratios, weights=WEIGHTS)
    variance = np.average((ratios - mean) ** 2, weights=WEIGHTS)
    return float(mean), math.sqrt(variance)


def _log_ratios(y: Array, weights: Array | None, other: type[ScaleLaw], share: float) -> Array:
    """log f_power(y) − log f_other(y) at the most likely scales of both."""
    return _log_likelihood(PowerLaw, y, weights, share) - _log_likelihood(other, y, weights, share)


def _log_likelihood(law: type[ScaleLaw], y: Array, weights: Array | None, share: float) -> Array:
    scale = law.scale(y, weights, share)
    return law.log_density(y / scale, share) - math.log(scale)


def _upper_quantile(probability: Array) -> Array:
    """z with P(N(0, 1) > z) = `probability`."""
    quantile: Array = -torch.special.ndtri(torch.from_numpy(probability)).numpy()
    return quantile
