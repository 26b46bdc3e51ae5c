"""How far out the largest norms lie: the 99.9 % quantile, with an interval that assumes nothing."""

import math
from typing import NamedTuple

import numpy as np

from gossamer.tails.estimate import Z95
from gossamer.tails.samples import Array

FAR = 0.999
"""The quantile that says how long a tail is."""


class FarQuantile(NamedTuple):
    """How far the 99.9 % quantile lies out, and a 95 % interval that assumes nothing.

    The number of norms below a quantile q is binomial, so q lies between the order statistics
    nq ± 1.96 √(nq(1 − q)); a small sample does not bound it from above.
    """

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Array) -> "FarQuantile":
        """That of a sample.

        >>> FarQuantile.of(np.arange(10_001.0))
        FarQuantile(estimate=9990.0, low=9984.0, high=9998.0)
        """
        ordered, n = np.sort(values), values.size
        half = Z95 * math.sqrt(n * FAR * (1 - FAR))
        low, high = math.floor(n * FAR - half), math.ceil(n * FAR + half)
        above = float(ordered[high]) if high < n else math.inf
        return cls(float(np.quantile(ordered, FAR)), float(ordered[low]), above)

    def __str__(self) -> str:
        bounded = math.isfinite(self.high)
        span = f"{self.low:.4g} – {self.high:.4g}" if bounded else f"above {self.low:.4g}"
        return f"{self.estimate:.4g} ({span})"


def length(norms: Array) -> FarQuantile:
    """How long the tail is: the 99.9 % quantile over the median."""
    return FarQuantile.of(norms / np.median(norms))


def shape(norms: Array) -> FarQuantile:
    """The 99.9 % quantile's distance from the median over the upper quartile's.

    Neither location nor scale of a sample matters. A Gaussian has 4.58 whatever its deviation.
    """
    median, upper = np.quantile(norms, [0.5, 0.75])
    return FarQuantile.of((norms - median) / (upper - median))
