"""Eleven methods, two problems, three noises: which is low, which is robust, which is easy."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from gossamer.algorithms import (
    DSGDCClip,
    GTAdam,
    NormalizedDSGD,
    QGDSGDm,
    admissible_sets,
)
from gossamer.colours import GREY, looks
from gossamer.experiments import (
    Experiment,
    Figures,
    Result,
    Results,
    SizeName,
    Table,
    Unit,
    Verdict,
)
from gossamer.plots import panels, style
from gossamer.simulation import search_set
from gossamer.simulation.words import spread
from gossamer.studies.methods.compared import Alike, Compared, Different
from gossamer.studies.methods.standing import (
    AS_GOOD,
    OURS,
    as_good,
    median_error,
    robust,
    worst_share,
)
from gossamer.studies.searched import Entry, Size
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.task import NETWORKS, NODES, NOISES
from gossamer.studies.wording import show_chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS: dict[str, Entry] = SYNTHETIC | {
    algorithm.label: (algorithm, search_set(algorithm))
    for algorithm in (DSGDCClip, GTAdam, QGDSGDm, NormalizedDSGD)
}
"""Those of the paper: of its synthetic study, then the others with their default search sets."""

CLIPPING = [m for m, (algorithm, _) in METHODS.items() if "clip" in admissible_sets(algorithm)]
KINDS = ("alike", "different")
SITUATIONS = [(kind, noise) for kind in KINDS for noise in NOISES]

AVOID = 4.0
"""A method is to be avoided where it is not robust, or from this multiple of the lowest on."""


class AllMethods(Experiment[Size]):
    """Tuned in each of six situations, reported on fresh seeds."""

    name = "all-methods"
    study = "methods"
    title = "Eleven methods, on nodes that are alike and that differ"
    about = (
        "Eleven methods on 20 nodes of a 2-hop ring (λ = 0.904) under the synthetic study's three "
        "noises, on two problems of 20 parameters: its regression, whose nodes hold samples of one "
        "law, and a quadratic whose nodes have optima some 10 apart in every coordinate. In each "
        "of these six situations every method is tuned by the full grid of its search set with "
        "tuning seeds, and runs as many steps on fresh seeds. What this compares are tuned methods "
        "on one network at one length of run; it says nothing about other networks, other lengths, "
        "or parameters that nobody tuned."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size(steps=32, tuning_seeds=1, fresh_seeds=2, every=6),
        "quick": Size(steps=3_000, tuning_seeds=1),
        "full": Size(steps=10_000, tuning_seeds=3),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per situation and method."""
        nodes: dict[str, Alike | Different] = {
            "alike": Alike(NODES, seed),
            "different": Different(NODES, 20, 10.0, seed),
        }
        return [
            Compared(
                unit_name(kind, noise, method),
                **size.search(entry, seed),
                network=NETWORKS["ring"],
                noise=NOISES[noise],
                nodes=nodes[kind],
            )
            for kind, noise in SITUATIONS
            for method, entry in METHODS.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Final errors of every method, a figure per problem and in it a panel per noise."""
        return {f"{self.name}-{kind}": _figure(results, kind) for kind in KINDS}

    def tables(self, results: Results) -> list[Table]:
        """What to choose, the errors behind it, robustness, search sets, and every choice."""
        return [
            _decision(results),
            *(_final_errors(results, kind) for kind in KINDS),
            _robustness(results),
            *(_search_sets(results, kind) for kind in KINDS),
            _chosen(results),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Is GT-NSGDm robust, what is as robust and lower, what is easier, what is always good?"""
        return [
            _robust(results),
            _clipping(results),
            _forgiving(results),
            _good_everywhere(results),
        ]


def unit_name(kind: str, noise: str, method: str) -> str:
    """Of a method in one situation."""
    return f"{kind}, {noise}, {method}"


def in_situation(results: Results, kind: str, noise: str) -> dict[str, Result]:
    """Method → how it did, the lowest median error first."""
    found = {method: results[unit_name(kind, noise, method)] for method in METHODS}
    return dict(sorted(found.items(), key=lambda entry: median_error(entry[1])))


def _figure(results: Results, kind: str) -> "Figure":
    with style():
        figure, axes = panels(len(NOISES), width=3.4, height=3.6)
        for ax, noise in zip(axes, NOISES, strict=True):
            _dots(ax, {m: results[unit_name(kind, noise, m)] for m in METHODS})
            ax.set(title=f"nodes {kind}, {noise} noise", xscale="log", xlabel="final error")
            ax.tick_params(axis="y", labelleft=ax is axes[0])
        figure.supxlabel("median and range over the seeds; × not robust; dotted: the initial error")
    return figure


def _dots(ax: "Axes", found: Mapping[str, Result]) -> None:
    """A dot at the median of every method that is finite, and a line over the seeds' range."""
    drawn = dict(zip(found, looks(list(found)), strict=True))
    for row, (method, result) in enumerate(found.items()):
        colour, marker = drawn[method].colour, "o" if robust(result) else "x"
        if worst_share(result) < float("inf"):
            ax.hlines(row, min(result["errors"]), max(result["errors"]), color=colour)
            ax.plot(median_error(result), row, marker, color=colour, label=method)
    initial = next(iter(found.values()))["initial"]
    ax.axvline(initial, color=GREY, linestyle=":", linewidth=1)
    ax.set_yticks(range(len(found)), labels=list(found))
    ax.invert_yaxis()


def _decision(results: Results) -> Table:
    rows = [
        [f"{kind}, {noise} noise", *_groups(in_situation(results, kind, noise))]
        for kind, noise in SITUATIONS
    ]
    title = (
        "Which method. A method is as good as the lowest if it is robust and its median error is "
        f"within {AS_GOOD} times the lowest. Avoid methods that are not robust, or that end at "
        f"{AVOID:g} times the lowest or more"
    )
    return Table(title, ["nodes and noise", "lowest", "as good", "avoid"], rows)


def _groups(found: Mapping[str, Result]) -> list[str]:
    """The lowest, those as good, and those to avoid."""
    (best, lowest), *_ = ((method, median_error(result)) for method, result in found.items())
    good = as_good(found, lowest)
    bad = [m for m, r in found.items() if not (robust(r) and median_error(r) < AVOID * lowest)]
    return [best, ", ".join(m for m in good if m != best), ", ".join(bad)]


def _final_errors(results: Results, kind: str) -> Table:
    found = {noise: in_situation(results, kind, noise) for noise in NOISES}
    worst = {m: max(median_error(of[m]) for of in found.values()) for m in METHODS}
    rows = [
        [method, *(_cell(of, method) for of in found.values())]
        for method in sorted(METHODS, key=lambda m: worst[m])
    ]
    title = f"Final errors, nodes {kind}: median [range]; ★ lowest, ✗ not robust"
    return Table(title, ["method", *(f"{noise} noise" for noise in NOISES)], rows)


def _cell(found: Mapping[str, Result], method: str) -> str:
    mark = "★ " if method == next(iter(found)) else ""
    return mark + ("" if robust(found[method]) else "✗ ") + spread(found[method]["errors"])


def _robustness(results: Results) -> Table:
    total = len(SITUATIONS)
    rows = [
        [
            method,
            f"{counts[0]} of {total}",
            "–" if method == OURS else f"{counts[1]} of {total}",
            " to ".join(f"{share:.0%}" for share in _least_and_most(_good(results, method))),
        ]
        for method, counts in _counts(results).items()
    ]
    title = (
        "Robustness: in how many situations a method is robust, in how many it ends lower than "
        "GT-NSGDm, and the share of settings whose error is at most twice the method's lowest"
    )
    return Table(title, ["method", "robust", "lower than GT-NSGDm", "good settings"], rows)


def _good(results: Results, method: str) -> list[float]:
    """The share of good settings in every situation."""
    found = [results[unit_name(kind, noise, method)] for kind, noise in SITUATIONS]
    return [result["good"] / result["settings"] for result in found]


def _least_and_most(shares: list[float]) -> list[float]:
    return [min(shares), max(shares)]


def _counts(results: Results) -> dict[str, tuple[int, int]]:
    """Method → in how many situations it is robust, and lower than GT-NSGDm; the best first."""
    found = [in_situation(results, kind, noise) for kind, noise in SITUATIONS]
    counts = {
        m: (
            sum(robust(of[m]) for of in found),
            sum(median_error(of[m]) < median_error(of[OURS]) for of in found),
        )
        for m in METHODS
    }
    return dict(sorted(counts.items(), key=lambda entry: entry[1], reverse=True))


def _search_sets(results: Results, kind: str) -> Table:
    rows = [
        [
            method,
            str(results[unit_name(kind, next(iter(NOISES)), method)]["settings"]),
            *(_shares(results[unit_name(kind, noise, method)]) for noise in NOISES),
        ]
        for method in METHODS
    ]
    title = (
        f"Search sets, nodes {kind}: share of settings that are good (within twice the best score) "
        "or useless (worse than not starting at all); ✗ where the best setting is not robust"
    )
    return Table(title, ["method", "settings", *(f"{noise} noise" for noise in NOISES)], rows)


def _shares(result: Result) -> str:
    good, useless = (result[key] / result["settings"] for key in ("good", "useless"))
    return f"{good:.0%} good, {useless:.0%} useless" if robust(result) else "✗"


def _chosen(results: Results) -> Table:
    rows = [
        [
            method,
            kind,
            noise,
            show_chosen(result["hyperparameters"]),
            spread(result["errors"]),
            "yes" if robust(result) else "no",
        ]
        for method in METHODS
        for kind, noise in SITUATIONS
        for result in [results[unit_name(kind, noise, method)]]
    ]
    columns = ["method", "nodes", "noise", "tuned to", "final error", "robust"]
    return Table("What every search chose, and where it ends", columns, rows)


def _robust(results: Results) -> Verdict:
    found = {f"{k}, {n} noise": results[unit_name(k, n, OURS)] for k, n in SITUATIONS}
    return Verdict(
        f"{OURS} is robust under every noise, on nodes that are alike and on nodes that differ",
        "largest final error as a share of the initial one: "
        + "; ".join(f"{where} {worst_share(result):.3f}" for where, result in found.items()),
        {where: robust(result) for where, result in found.items()},
        "A method is robust if no seed ends above half of its initial error.",
        source="ours",
    )


def _clipping(results: Results) -> Verdict:
    total, counts = len(SITUATIONS), _counts(results)
    return Verdict(
        f"Some method that clips is robust as often as {OURS} and ends lower in most situations",
        "; ".join(
            f"{m} robust in {counts[m][0]} of {total}, lower in {counts[m][1]}" for m in CLIPPING
        )
        + f"; {OURS} robust in {counts[OURS][0]}",
        any(method in CLIPPING for method in _rivals(results)),
        "A method ends lower if its median error is lower. Clipping levels, like all parameters, "
        "were tuned in each situation.",
        source="ours",
    )


def _rivals(results: Results) -> list[str]:
    """Methods that are robust as often as GT-NSGDm and lower in most situations."""
    counts = _counts(results)
    ours, _ = counts[OURS]
    return [
        m for m, (sound, lower) in counts.items() if sound >= ours and 2 * lower > len(SITUATIONS)
    ]


def _forgiving(results: Results) -> Verdict:
    ours = _good(results, OURS)
    rivals = {method: _good(results, method) for method in _rivals(results)}
    return Verdict(
        f"{OURS} has a larger share of good settings in its search set than each method that is as "
        "robust and mostly ends lower",
        "share of good settings, least and most over the situations: "
        + ", ".join(
            f"{m} " + " to ".join(f"{share:.1%}" for share in _least_and_most(shares))
            for m, shares in {OURS: ours, **rivals}.items()
        ),
        {m: all(a > b for a, b in zip(ours, shares, strict=True)) for m, shares in rivals.items()},
        f"It holds for a method if {OURS} has the larger share in every situation. A setting is "
        "good if its score is at most twice the method's best score.",
        source="ours",
    )


def _good_everywhere(results: Results) -> Verdict:
    found = [in_situation(results, kind, noise) for kind, noise in SITUATIONS]
    times = {
        m: max(median_error(of[m]) / median_error(next(iter(of.values()))) for of in found)
        for m in METHODS
        if all(robust(of[m]) for of in found)
    }
    return Verdict(
        f"Some method is robust, and within {AS_GOOD} times the lowest error, in every situation",
        "the methods that are robust in every situation, each with its error as a multiple of the "
        "lowest error, in the situation where this multiple is largest: "
        + (
            ", ".join(f"{m} {times[m]:.2f}" for m in sorted(times, key=times.__getitem__)) or "none"
        ),
        any(multiple <= AS_GOOD for multiple in times.values()),
        source="ours",
    )
