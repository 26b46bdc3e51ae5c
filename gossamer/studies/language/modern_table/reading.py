"""How far every method is from the lowest loss, on the ring and elsewhere."""

from collections.abc import Iterable, Mapping

from gossamer.experiments import Results
from gossamer.studies.language.grids import MODERN
from gossamer.studies.language.modern_table.situations import (
    FAMILY,
    MOVED,
    TASKS,
    elsewhere_name,
    tuned_name,
)
from gossamer.studies.language.task import final_losses, mean_loss

TOLERANCE = 0.1
AS_GOOD = 1.05


def losses(results: Results, corpus: str) -> dict[str, float]:
    """Method → its mean loss on the ring."""
    return {m: mean_loss(results[tuned_name(corpus, m)]) for m in MODERN}


def gaps(results: Results) -> dict[str, dict[str, float]]:
    """Method → on each corpus, how many times the lowest loss of all methods it has."""
    found = {corpus: losses(results, corpus) for corpus in TASKS}
    best = {corpus: lowest(of.values()) for corpus, of in found.items()}
    return {m: {c: found[c][m] / best[c] for c in TASKS} for m in MODERN}


def gaps_everywhere(results: Results) -> dict[str, dict[str, float]]:
    """Member of the family → where → how many times the lowest loss there it has.

    On the ring among all methods, elsewhere among those that were trained there.
    """
    on_the_ring, elsewhere = gaps(results), {}
    for corpus in TASKS:
        for place, of in at_places(results, corpus).items():
            best = lowest(of.values())
            elsewhere[f"{corpus}, {place}"] = {m: loss / best for m, loss in of.items()}
    return {
        m: {where: of[m] for where, of in elsewhere.items()}
        | {f"{corpus}, ring": gap for corpus, gap in on_the_ring[m].items()}
        for m in FAMILY
    }


def candidate(results: Results) -> str:
    """The member of the family that is near the best at most places, or else nowhere so far."""
    found = gaps_everywhere(results)
    return min(FAMILY, key=lambda m: (-near(found[m]), worst(found[m])[1]))


def near(found: Mapping[str, float]) -> int:
    """At how many places it is near the best."""
    return sum(gap <= AS_GOOD for gap in found.values())


def worst(found: Mapping[str, float]) -> tuple[str, float]:
    """Where the gap is largest, and the gap; nothing is worse than a run that diverged."""
    known = {where: gap if gap == gap else float("inf") for where, gap in found.items()}
    where = max(known, key=known.__getitem__)
    return where, known[where]


def lowest(values: Iterable[float]) -> float:
    """The lowest of those that are numbers."""
    return min(value for value in values if value == value)


def moved(results: Results) -> list[str]:
    """The methods that have been trained at the other places of both corpora."""
    return [m for m in MOVED if all(elsewhere_name(c, m) in results for c in TASKS)]


def at_places(results: Results, corpus: str) -> dict[str, dict[str, float]]:
    """Place → method → its loss there, and that of the first run on the ring."""
    known = moved(results)
    ring = {m: final_losses(results[tuned_name(corpus, m)])[0] for m in known}
    there = {m: results[elsewhere_name(corpus, m)]["places"] for m in known}
    places = {p: {m: mean_loss(there[m][p]) for m in known} for p in there[known[0]]}
    return {"ring": ring, **places}
