"""The tables: losses on the ring and elsewhere, what was chosen, and the corpora."""

from gossamer.experiments import Result, Results, Table
from gossamer.simulation.words import show_list
from gossamer.studies.language.grids import MODERN
from gossamer.studies.language.modern_table.reading import at_places, gaps, lowest, moved
from gossamer.studies.language.modern_table.situations import (
    PRINTED,
    TASKS,
    shards_name,
    tuned_name,
)
from gossamer.studies.language.task import final_losses
from gossamer.studies.wording import edges_in_words, mean_and_deviation, show_chosen


def tables_of(results: Results) -> list[Table]:
    """All tables, in the order in which they are shown."""
    elsewhere = [_elsewhere_table(results)] if moved(results) else []
    return [_losses_table(results), *elsewhere, _choices(results), _corpora(results)]


def _losses_table(results: Results) -> Table:
    found = gaps(results)
    columns = ["method"]
    for corpus in TASKS:
        columns += [f"{corpus}: {what}" for what in ("printed", "ours", "above the lowest")]
    rows = [
        [method, *(cell for c in TASKS for cell in _cells(results, c, method, found[method][c]))]
        for method in sorted(MODERN, key=lambda m: max(found[m].values()))
    ]
    title = (
        "Validation loss on the ring (mean ± standard deviation of the runs), and how far it is "
        "above the lowest. Methods that are near the lowest on both corpora come first"
    )
    return Table(title, columns, rows)


def _cells(results: Results, corpus: str, method: str, gap: float) -> list[str]:
    printed = PRINTED[corpus].get(method)
    ours = mean_and_deviation(final_losses(results[tuned_name(corpus, method)]))
    return ["–" if printed is None else f"{printed:.3f}", ours, f"{gap - 1:.1%}"]


def _elsewhere_table(results: Results) -> Table:
    known = moved(results)
    rows = [
        [corpus, place, *_starred([of[m] for m in known])]
        for corpus in TASKS
        for place, of in at_places(results, corpus).items()
    ]
    title = (
        "In other situations: validation loss of one run, with the setting tuned on the ring; "
        "★ marks the lowest"
    )
    return Table(title, ["corpus", "situation", *known], rows)


def _starred(values: list[float]) -> list[str]:
    best = lowest(values)
    return [f"{'★ ' if value == best else ''}{value:.3f}" for value in values]


def _choices(results: Results) -> Table:
    rows = [
        [corpus, method, *_choice(results[tuned_name(corpus, method)]["search"])]
        for corpus in TASKS
        for method in MODERN
    ]
    columns = [
        "corpus",
        "method",
        "settings",
        "run-steps",
        "beyond the set",
        "chosen",
        "on an edge",
    ]
    return Table("What the searches tried and chose", columns, rows)


def _choice(search: Result) -> list[str]:
    beyond = "; ".join(f"{name} {show_list(added)}" for name, added in search["extended"].items())
    chosen = show_chosen(search["hyperparameters"])
    tried = [str(search["settings"]), f"{search['run_steps']:,}"]
    return [*tried, beyond or "–", chosen, edges_in_words(search["edges"]) or "–"]


def _corpora(results: Results) -> Table:
    kinds = ("contiguous", "sorted", "shuffled")
    rows = [
        [
            corpus,
            *(
                f"{found[key]:,}"
                for key in ("train_tokens", "validation_tokens", "vocabulary", "parameters")
            ),
            f"{found['unigram_loss']:.3f}",
            *(f"{found['divergence'][kind]:.4f}" for kind in kinds),
        ]
        for corpus, found in ((corpus, results[shards_name(corpus)]) for corpus in TASKS)
    ]
    columns = ["corpus", "training tokens", "validation tokens", "vocabulary", "parameters",
               "loss by frequencies alone", *(f"{kind} shards" for kind in kinds)]  # fmt: skip
    title = (
        "The corpora; the last columns say how far a node's word frequencies are from those of the "
        "whole corpus (mean Kullback–Leibler divergence in nats)"
    )
    return Table(title, columns, rows)
