"""How a method ended in a situation, as a multiple of others or of its tuned self."""

import statistics
from collections.abc import Iterable, Sequence
from math import inf

from gossamer.experiments import Result, Results
from gossamer.studies.methods.clip_or_normalize.situations import (
    METHODS,
    SITUATIONS,
    Situation,
    unit_name,
)
from gossamer.studies.methods.standing import OURS

CLIPPED = [method for method in METHODS if method != OURS]

MATTERS = 1.25
"""Two methods differ from this ratio of their errors on."""


def tuned_errors(results: Results, situation: Situation, method: str) -> list[float]:
    """The final errors of the tuned method, seed by seed."""
    errors: list[float] = results[unit_name(situation, method)]["tuned"]["errors"]
    return errors


def median_errors(results: Results, situation: Situation) -> dict[str, float]:
    """Method → its median error, the lowest first."""
    found = {m: statistics.median(tuned_errors(results, situation, m)) for m in METHODS}
    return dict(sorted(found.items(), key=lambda entry: entry[1]))


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Seed by seed, the first errors as multiples of the second.

    >>> ratios([0.2, 0.3, inf], [0.1, 0.3, inf])
    [2.0, 1.0, inf]
    """
    return [a / b if a < inf else inf for a, b in zip(above, below, strict=True)]


def multiple(results: Results, situation: Situation, method: str, other: str) -> float:
    """The median over the seeds of a method's error as a multiple of another's."""
    pair = (tuned_errors(results, situation, m) for m in (method, other))
    return statistics.median(ratios(*pair))


def best_clipping(results: Results, situation: Situation) -> str:
    """The method that clips and ends lowest."""
    return next(m for m in median_errors(results, situation) if m in CLIPPED)


def cost_of_rule(results: Results, method: str) -> dict[str, float]:
    """Situation → what the theory's second parameter costs over the tuned one."""
    found = {s.name: results[unit_name(s, method)] for s in SITUATIONS}
    return {name: _over_tuned(of, of["by rule"]["errors"]) for name, of in found.items()}


def cost_of_theorem(results: Results) -> dict[str, float]:
    """Situation → what both parameters of Theorem 1 cost GT-NSGDm over the tuned ones."""
    found = {s.name: results[unit_name(s, OURS)] for s in SITUATIONS}
    return {
        name: _over_tuned(of, of["by theorem"]["Theorem 1"]["errors"]) for name, of in found.items()
    }


def cost_of_mistakes(result: Result) -> list[float]:
    """What each of the four mistakes costs: the step, then the second parameter, too low, high."""
    return [_over_tuned(result, errors) for errors in result["mistuned"].values()]


def _over_tuned(result: Result, errors: Sequence[float]) -> float:
    """The median over the seeds of the errors as multiples of those of the tuned method."""
    return statistics.median(ratios(errors, result["tuned"]["errors"]))


def median_and_worst(multiples: Iterable[float]) -> str:
    """The median and the largest of some multiples.

    >>> median_and_worst([1.0, 1.25, 3.0])
    '1.25 and 3'
    """
    listed = list(multiples)
    return f"{statistics.median(listed):.3g} and {max(listed):.3g}"
