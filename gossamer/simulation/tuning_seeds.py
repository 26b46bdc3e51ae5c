"""The seeds that hyper-parameters are chosen on, which are never reported."""

from collections.abc import Iterable

from gossamer.errors import require
from gossamer.simulation.simulation import list_seeds

FIRST = 1_000_000
"""Far from the seeds that people report: with more of these, the search is still the same."""


def default_tuning_seeds(count: int = 2) -> range:
    """The seeds of a search for which nobody chose any.

    >>> list(default_tuning_seeds())
    [1000000, 1000001]
    """
    return range(FIRST, FIRST + count)


def list_tuning_seeds(given: int | Iterable[int] | None, reported: list[int]) -> list[int]:
    """The seeds of a search, refused where one of them is reported, too."""
    listed = list_seeds(default_tuning_seeds() if given is None else given)
    both, last = set(listed) & set(reported), max(*listed, *reported)
    found, way_out = f"{min(both, default=None)}, which is also reported", f"e.g. {last + 1}"
    require(not both, "tuning_seeds", found, "seeds that are not reported", way_out)
    return listed
