"""What the estimators say together: the rules behind a diagnosis, and their words."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gossamer.tails._moments import MomentEstimate
from gossamer.tails.estimate import TailEstimate

Tail = Literal["infinite variance", "finite variance", "no power tail", "undecided"]

DECISIVE = "5 %"
"""Where the two tail estimators are weighed: √n is too noisy to decide, 10 % reaches the centre."""


@dataclass(frozen=True)
class Readings:
    """Every estimate of one sample. The last two are None for norms, which are not noise."""

    hill: dict[str, TailEstimate]
    moments: dict[str, MomentEstimate]
    max_to_sum: float
    log_moment: TailEstimate | None
    stable_index: float | None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % intervals of Hill and moments at the decisive cut-off, joined."""
        one, other = self.hill[DECISIVE].interval, self.moments[DECISIVE].interval
        return min(one[0], other[0]), max(one[1], other[1])

    @property
    def stable_law_says(self) -> float | None:
        """The smaller index of the two estimators that assume a stable law."""
        log_moment = None if self.log_moment is None else self.log_moment.tail_index
        return min((x for x in (log_moment, self.stable_index) if x is not None), default=None)


def classify(readings: Readings) -> Tail:
    """The kind of tail: decided only when Hill and moments agree beyond their errors.

    "No power tail" needs moments to find none at two of the three cut-offs, and to exclude an
    index below 2, so a short sample is undecided rather than light.
    """
    low, high = readings.interval
    light = sum(not estimate.power_tail for estimate in readings.moments.values()) >= 2
    if low > 2:
        return "no power tail" if light else "finite variance"
    return "infinite variance" if high < 2 else "undecided"


def describe(tail: Tail, readings: Readings) -> str:
    """The verdict in plain words."""
    low, high = readings.interval
    middle = np.median([e.tail_index for e in readings.hill.values()])
    between = f"between {low:.2f} and {high:.2f}" if math.isfinite(high) else f"above {low:.2f}"
    return {
        "infinite variance": f"Infinite variance. The tail falls like a power of index about "
        f"{middle:.2f} ({between}); no moment beyond that index exists.",
        "finite variance": f"Heavy tail, finite variance. It falls like a power of index about "
        f"{middle:.2f} ({between}), or faster: a lognormal cannot be told from it here.",
        "no power tail": "No power tail. The largest samples thin out as fast as a Gaussian's or "
        "an exponential's would; the variance is finite.",
        "undecided": f"Undecided. The tail index is {between}, on either side of 2, so this "
        "sample does not settle whether the variance is finite.",
    }[tail]


def disagreements(tail: Tail, readings: Readings) -> list[str]:
    """Where the estimators contradict each other, and why."""
    checks = [
        _stable_law_against_tail(tail, readings),
        _hill_against_moments(readings),
        _hill_drift(tail, readings),
        _one_sample_dominates(tail, readings),
    ]
    return [words for words in checks if words]


def _stable_law_against_tail(tail: Tail, readings: Readings) -> str:
    says = readings.stable_law_says
    if says is None or says > 1.9 or tail == "infinite variance":
        return ""
    against = "does not settle it" if tail == "undecided" else "says it is finite"
    return (
        f"The estimators that assume a stable law say infinite variance (index {says:.2f}); the "
        f"tail itself {against}. They answer below 2 also for t(3) and for a lognormal, whose "
        "variance is finite: believe them only if the law is stable."
    )


def _hill_against_moments(readings: Readings) -> str:
    hill, moments = readings.hill[DECISIVE], readings.moments[DECISIVE]
    if moments.power_tail and hill.interval[0] > 2 >= moments.interval[0]:
        return (
            f"Hill says finite variance ({hill}), moments does not exclude an infinite one "
            f"({moments}). Hill overstates the index of a stable law with α ≥ 1.8, whose power "
            "tail starts beyond most samples."
        )
    if hill.interval[1] < 2 < moments.tail_index:
        return (
            f"Hill says infinite variance ({hill}), moments does not ({moments}). Hill understates "
            "the index of one-sided noise, whose centre is far from its tail."
        )
    return ""


def _hill_drift(tail: Tail, readings: Readings) -> str:
    far, near = readings.hill["√n"], readings.hill["10 %"]
    overlap = far.interval[0] <= near.interval[1] and near.interval[0] <= far.interval[1]
    if overlap or tail == "no power tail":
        return ""
    direction = "lighter" if far.tail_index > near.tail_index else "heavier"
    return (
        f"Hill is not constant: {near.tail_index:.2f} at 10 %, {far.tail_index:.2f} at √n. The "
        f"tail grows {direction} further out, so no single index describes it."
    )


def _one_sample_dominates(tail: Tail, readings: Readings) -> str:
    if tail == "infinite variance" or readings.max_to_sum < 0.1:
        return ""
    return (
        f"One sample carries {readings.max_to_sum:.0%} of the sum of squares, as it would if the "
        "variance were infinite."
    )


def suggest_p(readings: Readings) -> tuple[float, str]:
    """A moment order p in (1, 2] that the noise very likely has, and why.

    A smaller p is always safe (a noise with p moments has all lower ones) and only slows the
    guaranteed rate, so p is the lower end of the 95 % intervals, rounded down.
    """
    low = math.floor(100 * min(2.0, readings.interval[0])) / 100
    p = max(1.05, low)
    if p == 2:
        return p, "Hill and moments both put the tail index above 2 with 95 % confidence."
    reason = (
        f"The lower end of the 95 % intervals of Hill and moments at the {DECISIVE} cut-off is "
        f"{low:.2f}; a smaller p is safe and only slows the guaranteed rate."
    )
    if p > low:
        reason += (
            " That is too close to 1 or below it: the theory needs a mean, so 1.05 is the least "
            "it can use; collect more samples, or take the rule for unknown p."
        )
    return p, reason
