"""The picture: how far every method is from the lowest error on every network."""

from typing import TYPE_CHECKING

from gossamer.experiments import Results
from gossamer.studies.methods.bad_networks.matrix import Cells, matrices
from gossamer.studies.methods.bad_networks.reading import as_multiple, rank
from gossamer.studies.methods.bad_networks.situations import METHODS, NOISES, PARTS, unit_name
from gossamer.studies.methods.standing import median_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_of(results: Results, part: str) -> "Figure":
    """A matrix of methods and networks, a panel for each noise."""
    where = part if part == "equal bytes" else f"nodes {part}"
    return matrices(
        {f"{noise} noise, {where}": _cells(results, part, noise) for noise in NOISES},
        list(METHODS),
        PARTS[part],
        "final error, as a multiple of the lowest in the panel; ✗ not robust: a seed ends above "
        "half of its initial error; – refused",
    )


def _cells(results: Results, part: str, noise: str) -> Cells:
    """(method, network) → error as a multiple of the lowest; ∞ if not robust, None if refused."""
    found = {
        (method, network): results.get(unit_name(part, network, noise, method))
        for method in METHODS
        for network in PARTS[part]
    }
    best = min((result for result in found.values() if result is not None), key=rank)
    lowest = median_error(best)
    return {
        place: None if result is None else as_multiple(result, lowest)
        for place, result in found.items()
    }
