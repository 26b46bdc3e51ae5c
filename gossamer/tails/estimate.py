"""An estimated tail index with its error, and the three cut-offs at which tails are read."""

import math
from dataclasses import dataclass

Z95 = 1.959964
"""The 97.5 % point of N(0, 1): a two-sided 95 % interval."""

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
        """The 95 % confidence interval, cut at 0."""
        half = Z95 * self.standard_error
        return max(0.0, round(self.tail_index - half, 6)), round(self.tail_index + half, 6)

    def __str__(self) -> str:
        return f"{self.tail_index:.2f} ± {self.standard_error:.2f}"


def cutoffs(num_samples: int) -> dict[str, int]:
    """How many of the largest samples count as "the tail": √n, 5 % and 10 % of them.

    One cut-off is never enough: too few samples are noisy, too many are not the tail. A power
    tail gives the same index at all three.

    >>> cutoffs(10_000)
    {'√n': 100, '5 %': 500, '10 %': 1000}
    """
    counts = {
        "√n": math.isqrt(num_samples),
        "5 %": num_samples // 20,
        "10 %": num_samples // 10,
    }
    return {name: max(2, count) for name, count in counts.items()}
