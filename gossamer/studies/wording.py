"""How numbers of the results are written in tables and verdicts."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any


def spread(values: Sequence[float]) -> str:
    """Median and range; divergence is written out.

    >>> spread([0.31, 0.28, 0.35]), spread([0.31, math.inf])
    ('0.310 [0.280, 0.350]', 'diverged on 1 of 2 seeds')
    """
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return f"diverged on {len(values) - len(finite)} of {len(values)} seeds"
    return f"{statistics.median(values):.3f} [{min(values):.3f}, {max(values):.3f}]"


def mean_and_deviation(values: Sequence[float]) -> str:
    """The mean and the deviation of a sample.

    >>> mean_and_deviation([0.25, 0.26, 0.27])
    '0.260 ± 0.010'
    """
    return f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"


def show_hyperparameters(values: Mapping[str, Any]) -> str:
    """The numbers; words such as the order are left out.

    >>> show_hyperparameters({"lr": 1e-2, "momentum": 0.6, "order": "adapt-then-combine"})
    'lr = 0.01, momentum = 0.6'
    """
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    return ", ".join(f"{name} = {value:g}" for name, value in numbers.items())


def listed(values: Mapping[str, float]) -> str:
    """Names with their numbers.

    >>> listed({"ring": 0.25, "complete": 0.3})
    'ring 0.250, complete 0.300'
    """
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
