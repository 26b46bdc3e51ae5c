"""The verdicts: printed losses, what is best on both corpora, whether it stands, and the cost."""

from collections.abc import Mapping

from gossamer.experiments import Results, Verdict
from gossamer.studies.language.grids import MODERN
from gossamer.studies.language.modern_table.reading import (
    AS_GOOD,
    TOLERANCE,
    candidate,
    gaps,
    gaps_everywhere,
    losses,
    lowest,
    moved,
    near,
    worst,
)
from gossamer.studies.language.modern_table.situations import (
    FAMILY,
    PRINTED,
    PUBLISHED,
    TASKS,
    shards_name,
    tuned_name,
)
from gossamer.studies.language.task import final_losses, mean_loss, mean_lowest_loss
from gossamer.studies.wording import edges_in_words, listed, mean_and_deviation

MINUTES = 20


def verdicts_of(results: Results) -> list[Verdict]:
    """All verdicts, in the order in which they are shown."""
    real = all(results[shards_name(c)]["corpus"] in ("multi30k", "tiny_shakespeare")
               for c in TASKS)  # fmt: skip
    ends = (_printed(results, c, m) for c in TASKS for m in PUBLISHED)
    printed = [*ends, _along_the_way(results)] if real else []
    advice = [_recommended(results)] if set(FAMILY) <= set(moved(results)) else []
    return [*printed, _interior(results), _lower(results), _near(results), *advice,
            _cost(results)]  # fmt: skip


def _printed(results: Results, corpus: str, method: str) -> Verdict:
    printed, result = PRINTED[corpus][method], results[tuned_name(corpus, method)]
    ours = mean_loss(result)
    return Verdict(
        f"{method} ends at {printed} on {corpus}",
        f"{mean_and_deviation(final_losses(result))} (difference {ours - printed:+.3f})",
        abs(ours - printed) <= TOLERANCE,
        f"It holds if our mean is within {TOLERANCE} of the printed loss. The runs end between "
        f"{min(final_losses(result)):.3f} and {max(final_losses(result)):.3f}.",
        source="published",
    )


def _along_the_way(results: Results) -> Verdict:
    found = {
        f"{method} on {corpus}": mean_lowest_loss(results[tuned_name(corpus, method)]) - printed
        for corpus, losses in PRINTED.items()
        for method, printed in losses.items()
    }
    return Verdict(
        "The printed losses agree with the lowest losses during our runs",
        "mean of the runs' lowest losses minus the printed loss: between "
        f"{min(found.values()):+.3f} and {max(found.values()):+.3f}",
        {name: abs(gap) <= TOLERANCE for name, gap in found.items()},
        f"It holds if all differences are at most {TOLERANCE}, up or down. The publication does "
        "not say whether it prints the lowest loss or the last.",
        source="published",
    )


def _interior(results: Results) -> Verdict:
    found = {tuned_name(c, m): results[tuned_name(c, m)]["search"] for c in TASKS for m in MODERN}
    on_edge = [
        f"{name} ({edges_in_words(search['edges'])})"
        for name, search in found.items()
        if search["edges"]
    ]
    extended = sum(bool(search["extended"]) for search in found.values())
    return Verdict(
        "No tuned hyper-parameter lies on an edge of what was tried",
        f"in {len(found) - len(on_edge)} of {len(found)} searches the best values lie inside; "
        f"{extended} searches went on beyond their first set",
        not on_edge,
        f"On an edge: {'; '.join(on_edge)}." if on_edge else "",
        source="ours",
    )


def _lower(results: Results) -> Verdict:
    found = {corpus: losses(results, corpus) for corpus in TASKS}
    bar = {corpus: lowest(of[m] for m in PUBLISHED) for corpus, of in found.items()}
    return Verdict(
        "Every member of the family of GT-NSGDm ends lower than the four published methods on both "
        "corpora",
        "\n".join(
            f"{c}: {listed({m: found[c][m] for m in FAMILY})}; lowest of the published "
            f"methods {bar[c]:.3f}"
            for c in TASKS
        ),
        {m: all(found[c][m] < bar[c] for c in TASKS) for m in FAMILY},
        source="ours",
    )


def _near(results: Results) -> Verdict:
    found = gaps(results)
    good = [m for m in MODERN if max(found[m].values()) <= AS_GOOD]
    return Verdict(
        f"Every member of the family of GT-NSGDm ends at most {AS_GOOD - 1:.0%} above the best of "
        f"all {len(MODERN)} methods on the ring, on both corpora",
        f"above the best, on {' and on '.join(TASKS)}: "
        + "; ".join(f"{m} {_shares(found[m])}" for m in FAMILY),
        {m: m in good for m in FAMILY},
        f"Of all methods, these end at most {AS_GOOD - 1:.0%} above the best on both corpora: "
        f"{', '.join(good) or 'none'}.",
        source="ours",
    )


def _shares(found: Mapping[str, float]) -> str:
    return " and ".join(f"{gap - 1:.1%}" for gap in found.values())


def _recommended(results: Results) -> Verdict:
    found, ours = gaps_everywhere(results), candidate(results)
    good = worst(found[ours])[1] <= AS_GOOD
    advice = f"{ours} is recommended for models." if good else "No member does."
    return Verdict(
        "There is one member of the family of GT-NSGDm that ends at most "
        f"{AS_GOOD - 1:.0%} above the best in every situation that we tried, on both corpora",
        "furthest above the best: " + "; ".join(f"{m} {_worst(found[m])}" for m in FAMILY),
        good,
        f"{advice} {ours} comes nearest: it ends at most {AS_GOOD - 1:.0%} above the best in "
        f"{near(found[ours])} of {len(found[ours])} cases. A case is a corpus in one situation.",
        source="ours",
    )


def _worst(found: Mapping[str, float]) -> str:
    where, gap = worst(found)
    return f"{gap - 1:.1%} ({where})"


def _cost(results: Results) -> Verdict:
    timed = [result for result in results.values() if "seconds" in result]
    minutes = sum(result["seconds"] for result in timed) / 60
    return Verdict(
        f"Our goal: this experiment takes at most {MINUTES} minutes on one GPU",
        f"{minutes:.1f} minutes on {timed[0]['machine']}",
        minutes <= MINUTES,
        "This is the sum over all units of work. Some units shared the GPU, which took longer.",
        source="ours",
    )
