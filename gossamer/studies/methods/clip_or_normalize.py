"""Clip or normalize? Clipped tracking, normalized tracking and clipped DSGD beside each other."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import inf
from typing import TYPE_CHECKING, ClassVar

from gossamer.colours import GREY, Look, looks
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
from gossamer.simulation.words import show_hyperparameters, spread
from gossamer.studies.methods.apart import Apart
from gossamer.studies.methods.contender import Contender
from gossamer.studies.methods.situations import (
    DIMENSION,
    GRADIENT,
    METHODS,
    NETWORKS,
    NODES,
    PLAIN,
    SITUATIONS,
    SKEWNESS,
    SPREADS,
    TAILS,
    TRACKER,
    Situation,
)
from gossamer.studies.methods.standing import OURS
from gossamer.studies.searched import Size
from gossamer.studies.wording import edges_in_words, least_to_most, none_on_an_edge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLIPPED = [method for method in METHODS if method != OURS]

MATTERS = 1.25
"""Two methods differ from this ratio of their errors on."""

RATIOS = [a * b for b in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) for a in (1, 2, 5)]
"""What the figures have a number for."""


@dataclass(frozen=True, kw_only=True)
class ClipSize(Size):
    """How long, how often and how widely."""

    extensions: int = 3


class ClipOrNormalize(Experiment[ClipSize]):
    """Tuned, by theory, and mistuned, over heterogeneity, tails and networks."""

    name = "clip-or-normalize"
    study = "methods"
    title = "Clip or normalize, over heterogeneity, tails and networks"
    about = (
        "Clipped DSGD is known to be optimal in order, and whether clipped gradient tracking is, "
        "and whether to clip its gradients or its tracker, was left open (arXiv 2610.10527). Here "
        "both run beside normalized tracking (GT-NSGDm) and clipped DSGD, on 20 nodes with 20 "
        "parameters. The nodes' quadratics have optima 0, 1 or 10 apart in every coordinate while "
        "their average stays the same, so that nothing but heterogeneity changes. The noise is "
        "α-stable with scale 0.3 and α = 1.2, 1.5 or 1.8, symmetric or skewed (0.5), and Gaussian "
        "at α = 2. All of these run on the 2-hop ring (λ = 0.904); the ring (0.967) and the "
        "complete network (0) run at α = 1.5 only. In every situation every method is tuned by "
        "successive halving, its search set extended where the best lay on its edge, and reported "
        "on fresh seeds. Ratios compare the same seeds, that is the same noise."
    )

    sizes: ClassVar[Mapping[SizeName, ClipSize]] = {
        "test": ClipSize(steps=16, tuning_seeds=1, fresh_seeds=2, extensions=0, every=9),
        "quick": ClipSize(steps=1_000, tuning_seeds=1, every=2),
        "full": ClipSize(steps=10_000, tuning_seeds=3, fresh_seeds=10),
    }

    def units(self, size: ClipSize, seed: int) -> list[Unit]:
        """A unit per situation and method."""
        return [
            Contender(
                unit_name(situation, method),
                **size.search(entry, seed),
                network=NETWORKS[situation.network],
                noise=situation.noise,
                nodes=Apart(NODES, DIMENSION, situation.spread, seed),
                extensions=size.extensions,
            )
            for situation in SITUATIONS
            for method, entry in METHODS.items()
        ]

    def finding(self, results: Results) -> str:
        """How the best way to clip compares with GT-NSGDm."""
        found = [multiple(results, s, _best_clipping(results, s), OURS) for s in SITUATIONS]
        lower = sum(value < 1 / MATTERS for value in found)
        return (
            f"The best way to clip, tuned, ends at {min(found):.2g} to {max(found):.3g} times the "
            f"error of {OURS}, clearly lower in {lower} of {len(found)} situations; which way is "
            "best changes from one to the next."
        )

    def figures(self, results: Results) -> Figures:
        """Errors as multiples of GT-NSGDm's over the tail index; a panel per heterogeneity."""
        return {f"{self.name}-{shape}": _figure(results, shape) for shape in SKEWNESS}

    def tables(self, results: Results) -> list[Table]:
        """What to use, the errors behind it, the theory's levels, mistuning, and every choice."""
        return [
            _decision(results),
            *(_final_errors(results, shape) for shape in SKEWNESS),
            _theory(results),
            _mistuned(results),
            _chosen(results),
        ]

    def verdicts(self, results: Results) -> list[Verdict]:
        """When to clip, what to clip, whether to track, and what a rule or a mistake costs."""
        return [
            *(_clip_is_as_good(results, shape) for shape in SKEWNESS),
            _clipped_tracker(results),
            _what_to_clip(results),
            _track(results),
            _good_everywhere(results),
            _connectivity(results),
            _rule(results),
            _forgiving(results),
            _inside(results),
        ]


def unit_name(situation: Situation, method: str) -> str:
    """Of a method in one situation."""
    return f"{situation.name}, {method}"


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


def _figure(results: Results, shape: str) -> "Figure":
    with style():
        figure, axes = panels(len(SPREADS), width=3.4, height=3.4)
        for ax, apart in zip(axes, SPREADS, strict=True):
            for place, look in enumerate(looks(CLIPPED)):
                _line(ax, results, (apart, shape, CLIPPED[place]), place, look)
            ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
            nodes = Situation(apart, 2.0, shape, "").nodes
            ax.set(title=f"nodes {nodes}, {shape} noise", yscale="log", xlabel="tail index")
            ax.set_xticks(TAILS)
        _one_scale(axes)
        axes[0].set_ylabel(f"error / that of {OURS}")
        axes[0].legend()
        figure.supxlabel(
            f"median and range over the seeds; below the dotted line: lower than {OURS}"
        )
    return figure


def _one_scale(axes: "Sequence[Axes]") -> None:
    """All panels show the same heights, numbered at the first."""
    low, high = (f(limit for ax in axes for limit in ax.get_ylim()) for f in (min, max))
    shown = [ratio for ratio in RATIOS if low <= ratio <= high]
    for ax in axes:
        ax.set_ylim(low, high)
        ax.set_yticks(shown, labels=[f"{ratio:g}" for ratio in shown])
        ax.tick_params(axis="y", labelleft=ax is axes[0])
        ax.minorticks_off()


def _line(ax: "Axes", results: Results, of: tuple[float, str, str], place: int, look: Look) -> None:
    """A method's median ratio over the tail index, and its range over the seeds.

    Methods stand beside each other, so that one does not hide another as good.
    """
    apart, shape, method = of
    beside = [tail + 0.02 * (place - 1.5) for tail in TAILS]
    for x, tail in zip(beside, TAILS, strict=True):
        situation = _on_the_ring(apart, tail, shape)
        pair = (tuned_errors(results, situation, m) for m in (method, OURS))
        found = [ratio for ratio in ratios(*pair) if ratio < inf]
        if found:
            ax.vlines(x, min(found), max(found), color=look.colour, alpha=0.4, label=f"_{method}")
    middle = [multiple(results, _on_the_ring(apart, t, shape), method, OURS) for t in TAILS]
    ax.plot(beside, middle, look.line, color=look.colour, marker="o", markersize=4, label=method)


def _on_the_ring(apart: float, tail: float, shape: str) -> Situation:
    """The situation on the 2-hop ring; Gaussian noise has one shape."""
    return Situation(apart, tail, "symmetric" if tail == 2 else shape, "2-hop ring")


def _decision(results: Results) -> Table:
    rows = [[s.name, *_lowest_and_clipping(results, s)] for s in SITUATIONS]
    title = (
        "The method that ends lowest, and the error of the best clipping method divided by that of "
        f"{OURS} (median, and range over the seeds in brackets)"
    )
    columns = ["nodes, noise and network", "ends lowest", f"error of best clipping / {OURS}"]
    return Table(title, columns, rows)


def _lowest_and_clipping(results: Results, situation: Situation) -> list[str]:
    """The lowest method, and how clipping compares with normalizing."""
    rival = _best_clipping(results, situation)
    pair = (tuned_errors(results, situation, m) for m in (rival, OURS))
    return [next(iter(median_errors(results, situation))), spread(ratios(*pair))]


def _best_clipping(results: Results, situation: Situation) -> str:
    return next(m for m in median_errors(results, situation) if m in CLIPPED)


def _final_errors(results: Results, shape: str) -> Table:
    rows = [
        [s.name, *(spread(tuned_errors(results, s, method)) for method in METHODS)]
        for s in SITUATIONS
        if s.shape == shape
    ]
    title = f"Final errors of the tuned methods under {shape} noise: median [range]"
    return Table(title, ["nodes, noise and network", *METHODS], rows)


def _theory(results: Results) -> Table:
    rows = [[m, _median_and_worst(_cost_of_rule(results, m).values())] for m in METHODS]
    rows += [
        [f"{OURS}, with the step size of Theorem 1", _median_and_worst(_theorem(results).values())]
    ]
    title = (
        "Error with the theory's momentum or clipping level, as a multiple of the error with tuned "
        "parameters. The step size is tuned in all rows but the last"
    )
    return Table(title, ["method", "in the median and in the worst situation"], rows)


def _cost_of_rule(results: Results, method: str) -> dict[str, float]:
    """Situation → what the theory's second parameter costs over the tuned one."""
    found = {s.name: results[unit_name(s, method)] for s in SITUATIONS}
    return {name: _over_tuned(of, of["by rule"]["errors"]) for name, of in found.items()}


def _theorem(results: Results) -> dict[str, float]:
    found = {s.name: results[unit_name(s, OURS)] for s in SITUATIONS}
    return {
        name: _over_tuned(of, of["by theorem"]["Theorem 1"]["errors"]) for name, of in found.items()
    }


def _over_tuned(result: Result, errors: Sequence[float]) -> float:
    """The median over the seeds of the errors as multiples of those of the tuned method."""
    return statistics.median(ratios(errors, result["tuned"]["errors"]))


def _median_and_worst(multiples: Iterable[float]) -> str:
    """The median and the largest of some multiples.

    >>> _median_and_worst([1.0, 1.25, 3.0])
    '1.25 and 3'
    """
    listed = list(multiples)
    return f"{statistics.median(listed):.3g} and {max(listed):.3g}"


def _mistuned(results: Results) -> Table:
    rows = [
        [method, *(_median_and_worst(costs) for costs in zip(*found, strict=True))]
        for method in METHODS
        for found in [[_mistakes(results[unit_name(s, method)]) for s in SITUATIONS]]
    ]
    title = (
        "Error if one parameter is four times too small or too large, as a multiple of the error "
        "with tuned parameters, in the median and in the worst situation. In the row of "
        f"{OURS}, “level” means 1 − momentum"
    )
    columns = ["method", "step size ÷ 4", "step size × 4", "level ÷ 4", "level × 4"]
    return Table(title, columns, rows)


def _mistakes(result: Result) -> list[float]:
    """What each of the four mistakes costs: the step, then the second parameter, too low, high."""
    return [_over_tuned(result, errors) for errors in result["mistuned"].values()]


def _chosen(results: Results) -> Table:
    rows = [
        [
            method,
            situation.name,
            show_hyperparameters(result["tuned"]["hyperparameters"]),
            edges_in_words(result["tuned"]["edges"]) or "none",
            show_hyperparameters(result["by rule"]["hyperparameters"]),
        ]
        for method in METHODS
        for situation in SITUATIONS
        for result in [results[unit_name(situation, method)]]
    ]
    columns = ["method", "nodes, noise and network", "tuned to", "on an edge", "by rule"]
    return Table("What every search chose", columns, rows)


def _grouped(value: Callable[[Situation], float]) -> dict[str, list[float]]:
    """Nodes and shape of the noise, in words → a value in each of these situations."""
    found: dict[str, list[float]] = {}
    for situation in SITUATIONS:
        group = f"nodes {situation.nodes}, {situation.shape} noise"
        found.setdefault(group, []).append(value(situation))
    return found


def _range(found: Mapping[str, Sequence[float]]) -> str:
    """The least and the most of all groups, and the groups in which they are.

    >>> _range({"alike": [0.5, 0.25], "apart": [2.0]})
    '0.25 (alike) to 2 (apart)'
    """
    pairs = ((group, value) for group, values in found.items() for value in values)
    return least_to_most(pairs, "{:.3g}".format)


def _clip_is_as_good(results: Results, shape: str) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, _best_clipping(results, s), OURS))
    found = {group: values for group, values in found.items() if shape in group}
    every = list(chain(*found.values()))
    return Verdict(
        f"Under {shape} noise the best way to clip ends as low as {OURS}, or lower",
        f"error as a multiple of that of {OURS}: {_range(found)}; clearly lower in "
        f"{sum(value < 1 / MATTERS for value in every)} of {len(every)} situations",
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error is at most {MATTERS} times that of {OURS} in every situation. "
        f"Clearly lower means below {1 / MATTERS:g} times that error. The best way to clip is "
        "taken in each situation, and its parameters are tuned there.",
        source="ours",
    )


def _clipped_tracker(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, TRACKER, OURS))
    return Verdict(
        f"A clipped tracker ends as low as {OURS}",
        f"error as a multiple of that of {OURS}: {_range(found)}",
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error is at most {MATTERS} times that of {OURS} in every situation.",
        source="ours",
    )


def _what_to_clip(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, GRADIENT, TRACKER))
    return Verdict(
        "With gradient tracking, clipping the gradient ends as low as clipping the tracker",
        "error with clipped gradients as a multiple of that with a clipped tracker: "
        + _range(found),
        {group: max(values) <= MATTERS for group, values in found.items()},
        f"It holds if the error with clipped gradients is at most {MATTERS} times that with a "
        "clipped tracker in every situation.",
        source="ours",
    )


def _track(results: Results) -> Verdict:
    found = _grouped(lambda s: multiple(results, s, PLAIN, GRADIENT))
    return Verdict(
        "If gradients are clipped and nodes differ, tracking lowers the error",
        f"error of {PLAIN} (no tracking) as a multiple of that of {GRADIENT} (tracking): "
        f"{_range(found)}",
        {
            group: statistics.median(values) >= MATTERS
            for group, values in found.items()
            if "alike" not in group
        },
        f"It holds if the error without tracking is at least {MATTERS} times that with tracking in "
        "the median situation.",
        source="ours",
    )


def _good_everywhere(results: Results) -> Verdict:
    medians = [median_errors(results, situation) for situation in SITUATIONS]
    worst = {m: max(of[m] / min(of.values()) for of in medians) for m in METHODS}
    ranked = sorted(worst, key=worst.__getitem__)
    return Verdict(
        f"One method is within {MATTERS} times the lowest error in every situation",
        "every method's error as a multiple of the lowest, in its worst situation: "
        + ", ".join(f"{m} {worst[m]:.3g}" for m in ranked),
        worst[ranked[0]] <= MATTERS,
        source="ours",
    )


def _connectivity(results: Results) -> Verdict:
    """Whether GT-NSGDm and the best clipping keep their order between ring and complete."""
    found = {}
    for shape, apart in product(SKEWNESS, SPREADS):
        pair = [Situation(apart, 1.5, shape, network) for network in ("ring", "complete")]
        values = [multiple(results, s, _best_clipping(results, s), OURS) for s in pair]
        found[f"{pair[0].nodes}, {shape}"] = values
    return Verdict(
        "Whether clipping or normalizing ends lower does not depend on the network",
        f"error of the best way to clip as a multiple of that of {OURS}, on the ring and on the "
        "complete network: "
        + "; ".join(f"{where} {a:.3g} and {b:.3g}" for where, (a, b) in found.items()),
        {where: _side(a) == _side(b) for where, (a, b) in found.items()},
        f"It holds if both multiples are below {1 / MATTERS:g}, both above {MATTERS}, or both "
        "between. The tail index is 1.5.",
        source="ours",
    )


def _side(value: float) -> int:
    """−1 where clipping is clearly lower, 1 where it is clearly higher, else 0."""
    return (value > MATTERS) - (value < 1 / MATTERS)


def _rule(results: Results) -> Verdict:
    found = {method: list(_cost_of_rule(results, method).values()) for method in METHODS}
    return Verdict(
        "With the momentum or clipping level of the theory, and a tuned step size, methods end "
        "nearly as low as tuned methods",
        "error as a multiple of the tuned method's, in the median and in the worst situation: "
        + ", ".join(f"{m} {_median_and_worst(costs)}" for m, costs in found.items())
        + f"; {OURS} with momentum and step size of Theorem 1 "
        + _median_and_worst(_theorem(results).values()),
        {method: max(costs) <= 1.5 for method, costs in found.items()},
        "It holds for a method if its error is at most 1.5 times that of the tuned method in every "
        "situation. All clipping levels are that of the theorem on clipped DSGD.",
        source="ours",
    )


def _forgiving(results: Results) -> Verdict:
    found = {m: [max(_mistakes(results[unit_name(s, m)])) for s in SITUATIONS] for m in METHODS}
    middles = {method: statistics.median(costs) for method, costs in found.items()}
    return Verdict(
        f"{OURS} suffers least from a parameter that is four times off",
        "error with the worst of four mistakes as a multiple of the tuned method's, in the median "
        "and in the worst situation: "
        + ", ".join(f"{m} {_median_and_worst(costs)}" for m, costs in found.items()),
        {m: middles[OURS] <= middles[m] for m in CLIPPED},
        f"It holds against a method if {OURS} loses no more in the median situation. A mistake "
        "makes the step size, the clipping level or 1 − momentum four times too small or too "
        "large. Where the tuned momentum is 0, 1 − momentum cannot be too large.",
        source="ours",
    )


def _inside(results: Results) -> Verdict:
    return none_on_an_edge({name: of["tuned"]["edges"] for name, of in results.items()})
