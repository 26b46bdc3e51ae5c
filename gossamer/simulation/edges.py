"""The edge of what a search tried, and what lies beyond it."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gossamer.algorithms import Algorithm, Interval, Schedule, admissible_sets

Edge = Literal["lowest", "highest"]

Setting = Mapping[str, Any]


def grid_edges(settings: Sequence[Setting], chosen: Algorithm[Any]) -> dict[str, Edge]:
    """Which hyper-parameters of `chosen` are the lowest or highest of several numbers tried.

    >>> from gossamer.algorithms import GTNSGDm
    >>> settings = [{"lr": lr, "momentum": 0.8} for lr in (0.01, 0.1, 1.0)]
    >>> grid_edges(settings, GTNSGDm(lr=1.0, momentum=0.8))
    {'lr': 'highest'}
    """
    found: dict[str, Edge] = {}
    for name, admissible in admissible_sets(type(chosen)).items():
        if not isinstance(admissible, Interval):
            continue  # a word
        value, tried = getattr(chosen, name), {setting[name] for setting in settings}
        if len(tried) == 1:
            continue
        if any(isinstance(one, Schedule) for one in tried):
            continue  # they have no order
        if value == max(tried):
            found[name] = "highest"
        elif value == min(tried) and not admissible.begins_at(value):
            found[name] = "lowest"
    return found


def settings_beyond(
    settings: Sequence[Setting], chosen: Algorithm[Any]
) -> tuple[list[Setting], dict[str, list[float]]]:
    """The settings to try next, those at an edge moved beyond it, and the values that are new.

    Of a grid that is another layer, with all values of the other hyper-parameters.

    >>> from gossamer.algorithms import GTNSGDm
    >>> settings = [{"lr": lr, "momentum": b} for lr in (0.1, 1.0) for b in (0, 0.5, 0.9)]
    >>> further, values = settings_beyond(settings, GTNSGDm(lr=1.0, momentum=0.5))
    >>> values
    {'lr': [10.0]}
    >>> [setting["momentum"] for setting in further]
    [0, 0.5, 0.9]
    """
    further: list[Setting] = []
    added: dict[str, list[float]] = {}
    for name, edge in grid_edges(settings, chosen).items():
        admissible = admissible_sets(type(chosen))[name]
        assert isinstance(admissible, Interval)
        added[name] = values_beyond({s[name] for s in settings}, edge, admissible)
        here = getattr(chosen, name)
        at_edge = [s for s in itertools.chain(settings, further) if s[name] == here]
        further += [{**s, name: value} for value in added[name] for s in at_edge]
    return further, added


def values_beyond(tried: set[float], edge: Edge, admissible: Interval) -> list[float]:
    """The values that continue the pattern of those tried, beyond the lowest or the highest.

    Distances from the end of the admissible interval shrink as they did, and where there is no end
    values grow as they did: by the factors between them, over one period of these factors. The end
    of a bounded interval, e.g. momentum 0, is then tried itself if it is admissible.

    >>> to_infinity, to_one = Interval(0, math.inf), Interval(0, 1)
    >>> values_beyond({0.1, 0.5, 1.0, 5.0, 10.0}, "highest", to_infinity)
    [50.0, 100.0]
    >>> values_beyond({0.1, 0.5, 1.0, 5.0, 10.0}, "lowest", to_infinity)
    [0.05, 0.01]
    >>> values_beyond({0.8, 0.9, 0.99}, "highest", to_one)
    [0.999]
    >>> values_beyond({0.01, 0.1, 0.2}, "lowest", Interval(0, 1, closed_low=True))
    [0.001, 0.0]
    """
    end, other = float(admissible.high), float(admissible.low)
    if edge == "lowest":
        end, other = other, end
    outwards = sorted(tried, reverse=edge == "lowest")
    origin = next((bound for bound in (end, other) if math.isfinite(bound)), None)
    if origin is None:  # no bound at all: as far again as the last two are apart
        return [2 * outwards[-1] - outwards[-2]]
    side = math.copysign(1, outwards[-1] - origin)
    distances = [abs(value - origin) for value in outwards if value != origin]
    bounded = math.isfinite(end) and math.isfinite(other)
    last = [end] if bounded and admissible.begins_at(end) else []
    return [*(origin + side * distance for distance in _continued(distances)), *last]


def _continued(values: Sequence[float]) -> list[float]:
    """One more period of a sequence whose factors repeat; of one value, its tenfold."""
    if len(values) == 1:
        return [10 * values[0]]
    period = next((p for p in range(1, len(values) // 2 + 1) if _repeats(values, p)), 1)
    factor = values[-1] / values[-1 - period]
    return [float(f"{value * factor:.6g}") for value in values[len(values) - period :]]


def _repeats(values: Sequence[float], period: int) -> bool:
    """Whether the factors over this many places agree at the end, more than a period of them."""
    compared = min(period + 1, len(values) - period)
    factors = [values[-k] / values[-k - period] for k in range(1, compared + 1)]
    return compared > 1 and all(math.isclose(f, factors[0], rel_tol=1e-9) for f in factors)
