"""What the estimators say together: the rules behind a diagnosis, and their words."""

from dataclasses import dataclass
from typing import Literal

from gossamer.tails._pareto_fit import ParetoFit
from gossamer.tails.alternatives import PowerLawTest
from gossamer.tails.estimate import TailEstimate, round_down, span

Tail = Literal["infinite variance", "finite variance", "no power tail", "undecided"]

SHOWN = "5 %"
"""The cut-off at which the estimators are compared in words and in the figure."""

LEAST_FOR_LIGHT = 5000
"""Independent samples below which no tail is called light: of the samples of a stable law of index
1.95 about 2 in 1,000 lie beyond what a Gaussian would give, and ten of them must be seen."""

LEAST_P = 1.05
"""The moment order that is suggested at least: the theory needs one above 1."""

LARGEST_P_UNDECIDED = 1.9
"""The moment order that is suggested at most while it is open whether the variance is finite."""


@dataclass(frozen=True)
class Readings:
    """Every estimate of one sample. The last two are None for norms, which are not noise."""

    hill: dict[str, TailEstimate]
    pareto_fit: dict[str, ParetoFit]
    power_law: dict[str, PowerLawTest]
    """At the cut-offs with enough samples, from the furthest out to the widest."""

    independent: float
    """As how many independent samples the samples count."""

    max_to_sum: float
    log_moment: TailEstimate | None
    stable_index: float | None

    def bounds(self, *cuts: str) -> tuple[float, float]:
        """What Hill and the Pareto fit say at the cut-offs, joined: 95 % confidence either side."""
        estimates = [table[cut] for table in (self.hill, self.pareto_fit) for cut in cuts]
        lows, highs = zip(*(estimate.bounds for estimate in estimates), strict=True)
        return min(lows), max(highs)

    @property
    def heavy_cut(self) -> str | None:
        """The widest cut-off from which on a power law of index below 2 is all that fits.

        There both estimators put the index below 2, and both laws with all moments are rejected;
        from there on outwards neither the power law nor an index below 2 is.
        """
        found = None
        for cut, test in self.power_law.items():
            low, high = self.bounds(cut)
            if test.power_law_rejected or low >= 2:
                break
            if test.alternatives_rejected and high < 2:
                found = cut
        return found

    @property
    def stable_law_says(self) -> dict[str, float]:
        """The indices of the estimators that assume a stable law, by name."""
        log_moment = None if self.log_moment is None else self.log_moment.tail_index
        found = {"log-moment": log_moment, "stable fit": self.stable_index}
        return {name: index for name, index in found.items() if index is not None}


@dataclass(frozen=True)
class Decision:
    """The kind of tail, and the interval of its index that it rests on."""

    tail: Tail
    interval: tuple[float, float]
    """The index is above the first with 95 % confidence, and below the second."""


def decide(readings: Readings) -> Decision:
    """Infinite variance if only a power law fits, light if no cut-off excludes it, else undecided.

    Light needs every estimate at every cut-off above 2, and samples enough to have seen a power
    tail that begins late.
    """
    if cut := readings.heavy_cut:
        return Decision("infinite variance", readings.bounds(cut))
    everywhere = readings.bounds(*readings.hill)
    if everywhere[0] <= 2 or readings.independent < LEAST_FOR_LIGHT:
        return Decision("undecided", everywhere)
    curved = sum(not fit.power_tail for fit in readings.pareto_fit.values()) >= 2
    return Decision("no power tail" if curved else "finite variance", everywhere)


def describe(decision: Decision, readings: Readings) -> str:
    """The verdict in plain words."""
    low, high = decision.interval
    index = f"index {span(low, high).replace(' – ', ' to ')} (each limit with 95 % confidence)"
    return {
        "infinite variance": f"Infinite variance. The tail is a power law of {index}. "
        f"Beyond the {readings.heavy_cut} cut-off, two laws whose moments are all finite do not "
        "fit: a lognormal and a stretched exponential.",
        "finite variance": f"Finite variance. The tail is a power law of {index}, or "
        "lighter, e.g. lognormal.",
        "no power tail": "No power tail. The largest samples are as rare as those of a Gaussian or "
        "an exponential law. The variance is finite.",
        "undecided": f"These samples cannot decide. {_why_undecided(decision, readings)}",
    }[decision.tail]


def _why_undecided(decision: Decision, readings: Readings) -> str:
    low, high = decision.interval
    if low > 2:
        return (
            f"They show no sign of an infinite variance (index {span(low, high)}). But a power "
            f"tail may begin far out, and to see it takes {LEAST_FOR_LIGHT:,} independent samples."
        )
    heavy = [cut for cut in readings.power_law if readings.bounds(cut)[1] < 2]
    if heavy and not readings.power_law[heavy[-1]].alternatives_rejected:
        return (
            f"At the {heavy[-1]} cut-off the tail looks like a power law of infinite variance. But "
            "a lognormal or a stretched exponential, whose moments are all finite, fits it as well."
        )
    if heavy and readings.power_law[heavy[-1]].power_law_rejected:
        return (
            f"At the {heavy[-1]} cut-off Hill and the Pareto fit put the index below 2, but the "
            "tail is not that of a power law."
        )
    return f"The tail index may lie on either side of 2 (over all cut-offs {span(low, high)})."


def disagreements(tail: Tail, readings: Readings) -> list[str]:
    """Where the estimators contradict each other, and why."""
    checks = [
        _stable_law_against_tail(tail, readings),
        _hill_against_pareto_fit(readings),
        _hill_drift(tail, readings),
        _one_sample_dominates(tail, readings),
    ]
    return [words for words in checks if words]


def _stable_law_against_tail(tail: Tail, readings: Readings) -> str:
    says = readings.stable_law_says
    heavy = {name: index for name, index in says.items() if index <= 1.9}
    if not heavy or tail == "infinite variance":
        return ""
    verbs = "assume a stable law, say" if len(heavy) > 1 else "assumes a stable law, says"
    against = "does not settle it" if tail == "undecided" else "says it is finite"
    others = [
        f", and the {name}, which assumes the same, gives {index:.2f}"
        for name, index in says.items()
        if name not in heavy
    ]
    return (
        f"The {' and the '.join(heavy)}, which {verbs} infinite variance (index "
        f"{min(heavy.values()):.2f}); the tail itself {against}{''.join(others)}. Such estimators "
        "answer below 2 also for t(3) and for a lognormal, whose variance is finite: believe them "
        "only if the law is stable."
    )


def _hill_against_pareto_fit(readings: Readings) -> str:
    hill, fit = readings.hill[SHOWN], readings.pareto_fit[SHOWN]
    if fit.power_tail and hill.interval[0] > 2 >= fit.interval[0]:
        return (
            f"Hill says finite variance ({hill}), the Pareto fit does not exclude an infinite one "
            f"({fit}). Hill overstates the index of a stable law with α ≥ 1.8, whose power "
            "tail starts beyond most samples."
        )
    if hill.interval[1] < 2 < fit.tail_index:
        return (
            f"Hill says infinite variance ({hill}), the Pareto fit does not ({fit}). Hill "
            "understates the index of one-sided noise, whose centre is far from its tail."
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


def suggest_p(decision: Decision) -> tuple[float, str]:
    """A moment order p in (1, 2] that the noise has with 95 % confidence, and why.

    A smaller p is always safe (a noise with p moments has all lower ones) and only slows the
    guaranteed rate, so p is the lower bound of the index, rounded down.
    """
    if decision.tail in ("finite variance", "no power tail"):
        return (
            2.0,
            "Hill and the Pareto fit put the tail index above 2 with 95 % confidence at every cut.",
        )
    low = round_down(decision.interval[0])
    if low < LEAST_P:
        return (
            LEAST_P,
            f"The samples only show that the index is above {low:.2f} with 95 % confidence. The "
            f"theory needs p > 1, so {LEAST_P} is the least that is suggested, not a safe value: "
            "collect more samples, or take the rule for unknown p.",
        )
    p = min(low, LARGEST_P_UNDECIDED)
    reason = (
        f"The tail index is above {low:.2f} with 95 % confidence; a smaller p is safe and only "
        "slows the guaranteed rate."
    )
    if p < low:
        reason += f" While the variance may be infinite, p is at most {p}."
    return p, reason
