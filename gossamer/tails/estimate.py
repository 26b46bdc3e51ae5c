"""An estimated tail index with its error, and the four cut-offs at which tails are read."""

import math
from dataclasses import dataclass, replace

Z95 = 1.959964
"""The 97.5 % point of N(0, 1): a two-sided 95 % interval."""

Z95_ONE_SIDED = 1.644854
"""The 95 % point of N(0, 1): a bound that holds with 95 % confidence."""

GAUSSIAN_IQR = 1.34898
"""From the lower to the upper quartile of N(0, 1)."""


@dataclass(frozen=True)
class TailEstimate:
    """A tail index and its standard error; `interval` is the 95 % confidence interval.

    >>> estimate = TailEstimate(tail_index=1.5, standard_error=0.15)
    >>> estimate.interval
    (1.206005, 1.793995)
    >>> print(estimate)
    1.50 ± 0.15
    """

    tail_index: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval, whose lower end is at least 0."""
        return self._within(Z95)

    @property
    def bounds(self) -> tuple[float, float]:
        """A lower and an upper bound of the index, each with 95 % confidence."""
        return self._within(Z95_ONE_SIDED)

    def widened(self, factor: float) -> "TailEstimate":
        """The same index with a standard error that is `factor` times as large."""
        return replace(self, standard_error=factor * self.standard_error)

    def _within(self, z: float) -> tuple[float, float]:
        half = z * self.standard_error
        return max(0.0, round(self.tail_index - half, 6)), round(self.tail_index + half, 6)

    def __str__(self) -> str:
        return f"{self.tail_index:.2f} ± {self.standard_error:.2f}"


def cutoffs(num_samples: int) -> dict[str, int]:
    """How many of the largest of n samples count as "the tail": √n, and 2 %, 5 % and 10 % of n.

    One cut-off is never enough: an estimate from few samples is noisy, and many samples include
    more than the tail. For a power tail, the index is the same at all cut-offs.

    >>> cutoffs(10_000)
    {'√n': 100, '2 %': 200, '5 %': 500, '10 %': 1000}
    """
    counts = {
        "√n": math.isqrt(num_samples),
        "2 %": num_samples // 50,
        "5 %": num_samples // 20,
        "10 %": num_samples // 10,
    }
    return {name: max(2, count) for name, count in counts.items()}


def round_down(value: float) -> float:
    """Two decimals, never more than the value: a rounded lower bound is one still.

    >>> round_down(1.829), round_down(1.3)
    (1.82, 1.3)
    """
    return math.floor(100 * value + 1e-9) / 100


def span(low: float, high: float) -> str:
    """An interval in words, rounded outwards.

    >>> span(1.829, 2.001), span(1.829, math.inf), span(math.inf, math.inf)
    ('1.82 – 2.01', 'above 1.82', '∞')
    """
    if math.isinf(low):
        return "∞"
    if math.isinf(high):
        return f"above {round_down(low):.2f}"
    return f"{round_down(low):.2f} – {-round_down(-high):.2f}"
