"""How a method did in a situation, and beside others there."""

import math
from collections.abc import Mapping

from gossamer.experiments import Result, Results
from gossamer.studies.methods.bad_networks.situations import METHODS, NOISES, PARTS, unit_name
from gossamer.studies.methods.standing import OURS, as_good, median_error, robust

SURVIVES = 2.0
"""A method survives a network where it is robust, and its median error is at most this multiple of
its error on the clean network."""


def in_situation(results: Results, part: str, network: str, noise: str) -> dict[str, Result]:
    """Method → how it did, robust ones first, the lowest median error first; none is refused."""
    names = {method: unit_name(part, network, noise, method) for method in METHODS}
    found = {method: results[name] for method, name in names.items() if name in results}
    return dict(sorted(found.items(), key=lambda entry: rank(entry[1])))


def rank(result: Result) -> tuple[bool, float]:
    """Lower is better: what is not robust comes last, however low its median."""
    return not robust(result), median_error(result)


def on_networks(results: Results, part: str, noise: str, method: str) -> dict[str, Result]:
    """Network → how the method did there; without those that refuse it."""
    names = {network: unit_name(part, network, noise, method) for network in PARTS[part]}
    return {network: results[name] for network, name in names.items() if name in results}


def multiples(found: Mapping[str, Result]) -> dict[str, float]:
    """Network → median error there as a multiple of that on the clean network.

    ∞ where it is not robust, there or on the clean network.
    """
    if not robust(found["clean"]):
        return dict.fromkeys(found, math.inf)
    clean = median_error(found["clean"])
    return {network: as_multiple(result, clean) for network, result in found.items()}


def as_multiple(result: Result, error: float) -> float:
    """The median error as a multiple of another error; ∞ if it is not robust."""
    return median_error(result) / error if robust(result) else math.inf


def survived(found: Mapping[str, Result]) -> list[str]:
    """The networks that a method survives."""
    return [network for network, times in multiples(found).items() if times <= SURVIVES]


def near_the_lowest(found: Mapping[str, Result]) -> list[str]:
    """Methods that are robust and near the lowest median error."""
    return as_good(found, median_error(min(found.values(), key=rank)))


def ours_on_bad_networks(results: Results) -> dict[str, float]:
    """Network and noise → our error there, as a multiple of that on the clean network."""
    return {
        f"{network}, {noise}": multiple
        for noise in NOISES
        for network, multiple in multiples(on_networks(results, "different", noise, OURS)).items()
        if network != "clean"
    }


def show_multiple(multiple: float) -> str:
    """With two digits after the point.

    >>> show_multiple(1.25), show_multiple(math.inf)
    ('1.25', 'not robust')
    """
    return f"{multiple:.2f}" if multiple < math.inf else "not robust"


def show_error(result: Result | None, lowest: Result | None = None) -> str:
    """The median error: ★ if it is `lowest`, ✗ if it is not robust, – if it was refused."""
    if result is None:
        return "–"
    mark = "✗ " if not robust(result) else "★ " if result is lowest else ""
    return mark + f"{median_error(result):.3g}".replace("inf", "∞")
