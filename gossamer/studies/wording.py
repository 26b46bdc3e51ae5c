"""How numbers of the results are written in tables and verdicts."""

import statistics
from collections.abc import Mapping, Sequence


def mean_and_deviation(values: Sequence[float]) -> str:
    """The mean and the deviation of a sample.

    >>> mean_and_deviation([0.25, 0.26, 0.27])
    '0.260 ± 0.010'
    """
    return f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"


def listed(values: Mapping[str, float]) -> str:
    """Names with their numbers.

    >>> listed({"ring": 0.25, "complete": 0.3})
    'ring 0.250, complete 0.300'
    """
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
