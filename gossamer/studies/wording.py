"""How numbers of the results are written in tables and verdicts."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gossamer.experiments import Verdict
from gossamer.simulation.words import show_hyperparameters


def mean_and_deviation(values: Sequence[float]) -> str:
    """The mean and the deviation of a sample.

    >>> mean_and_deviation([0.25, 0.26, 0.27])
    '0.260 ± 0.010'
    """
    return f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"


def show_chosen(hyperparameters: Mapping[str, Any]) -> str:
    """The numbers that a search chose; words are not searched, and belong to a method's name.

    >>> show_chosen({"lr": 0.01, "clip": 1.0, "clipped": "tracker"})
    'lr = 0.01, clip = 1'
    """
    numbers = {k: v for k, v in hyperparameters.items() if not isinstance(v, str)}
    return show_hyperparameters(numbers)


def edges_in_words(edges: Mapping[str, str]) -> str:
    """Which hyper-parameters are the lowest or highest tried.

    >>> edges_in_words({"lr": "highest", "clip": "lowest"})
    'lr highest, clip lowest'
    """
    return ", ".join(f"{name} {edge}" for name, edge in edges.items())


def none_on_an_edge(edges: Mapping[str, Mapping[str, str]], note: str = "") -> Verdict:
    """The verdict on searches, by name, and the edges on which their choice lies."""
    there = [name for name, of in edges.items() if of]
    return Verdict(
        "No tuned optimum lies on the edge of what was tried",
        f"{len(there)} of {len(edges)} searches end on an edge"
        + (f": {'; '.join(there)}" if there else ""),
        not there,
        note,
        source="ours",
    )


def listed(values: Mapping[str, float]) -> str:
    """Names with their numbers.

    >>> listed({"ring": 0.25, "complete": 0.3})
    'ring 0.250, complete 0.300'
    """
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())


def least_to_most(values: Iterable[tuple[str, float]], show: Callable[[float], str]) -> str:
    """The least and the most of some numbers, and the first places where these are.

    >>> least_to_most([("clean", 1.0), ("signs", 2.5), ("one-way", 0.5)], "{:.2f}".format)
    '0.50 (one-way) to 2.50 (signs)'
    """
    known = list(values)
    ends = (end(known, key=lambda pair: pair[1]) for end in (min, max))
    return " to ".join(f"{show(value)} ({where})" for where, value in ends)
