"""How tuned methods stand to each other, by their final errors on fresh seeds."""

import statistics
from collections.abc import Mapping

from gossamer.experiments import Result
from gossamer.studies.synthetic.task import ROBUST

OURS = "GT-NSGDm"

AS_GOOD = 1.5
"""A method is as good as the best while its median error is at most this multiple of the lowest."""


def median_error(result: Result) -> float:
    """Median over the seeds of the final error."""
    return statistics.median(result["errors"])


def worst_share(result: Result) -> float:
    """The largest final error, as a share of the initial one."""
    return float(max(result["errors"]) / result["initial"])


def robust(result: Result) -> bool:
    """Whether every seed ends below half of its initial error."""
    return worst_share(result) < ROBUST


def as_good(found: Mapping[str, Result], lowest: float) -> list[str]:
    """Methods that are robust, and whose median error is near the lowest."""
    return [m for m, r in found.items() if robust(r) and median_error(r) <= AS_GOOD * lowest]
