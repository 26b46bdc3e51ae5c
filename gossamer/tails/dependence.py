"""Are the samples independent? How many of them count as one."""

import math

import numpy as np

from gossamer.tails.samples import Array

WINDOW = 5
"""Lags are summed up to this many correlation times: beyond, only noise would be added."""

SIGNIFICANT = 4.0
"""Standard errors that a correlation time must be above 1 to be believed."""


def correlation_time(samples: Array) -> float:
    r"""How many successive samples carry as much information as one independent sample.

    For independent samples it is 1. The mean of dependent samples has
    \(τ = 1 + 2 \sum_{j \ge 1} ρ_j\) times the variance of the mean of independent ones, where
    \(ρ_j\) is the autocorrelation at lag j. The function computes τ for two series: the ranks of
    the samples, which show any drift or memory, and the indicators of samples above the 95 %
    quantile, which show the clusters of large samples that disturb tail estimators most. It returns
    the larger τ, or 1 if τ is less than four standard errors above 1.

    >>> rng = np.random.default_rng(0)
    >>> correlation_time(rng.standard_t(1.5, 10_000) ** 2)
    1.0
    >>> round(correlation_time(np.repeat(rng.normal(size=1000) ** 2, 10)), -1)
    10.0

    Reference: A. D. Sokal, "Monte Carlo methods in statistical mechanics" (1997), Section 3.
    """
    ranks = _ranks(samples)
    exceeds = (ranks >= 0.95 * samples.size).astype(np.float64)
    return max(_correlation_time(ranks), _correlation_time(exceeds))


def _ranks(samples: Array) -> Array:
    """0 for the least, …; equal samples share the mean of their ranks, whatever their order."""
    _, place, count = np.unique(samples, return_inverse=True, return_counts=True)
    mean: Array = np.cumsum(count) - (count + 1) / 2
    return mean[place]


def _correlation_time(series: Array) -> float:
    """τ summed up to the first lag M ≥ 5τ; 1 unless significantly above."""
    if np.ptp(series) == 0:
        return 1.0
    time = 2 * np.cumsum(_autocorrelations(series)) - 1
    lags = np.arange(time.size)
    enough = np.flatnonzero(lags >= WINDOW * time)
    last = int(enough[0]) if enough.size else lags.size - 1
    error = math.sqrt((4 * last + 2) / series.size)
    return float(time[last]) if time[last] > 1 + SIGNIFICANT * error else 1.0


def _autocorrelations(series: Array) -> Array:
    """ρ₀ = 1, ρ₁, … up to half of the length."""
    centred = series - series.mean()
    power = np.abs(np.fft.rfft(centred, 2 * series.size)) ** 2
    covariances: Array = np.fft.irfft(power)[: series.size // 2]
    return covariances / covariances[0]
