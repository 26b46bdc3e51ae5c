"""The record of a comparison: methods side by side, as a table, as curves and as a picture."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.errors import require
from gossamer.simulation._tune import Tuned
from gossamer.simulation.curves import curves
from gossamer.simulation.metrics import COSTS
from gossamer.simulation.picture import Against, Band, draw_runs
from gossamer.simulation.run import Run
from gossamer.simulation.table import Column, Spread, Table
from gossamer.simulation.words import (
    SPREADS,
    Center,
    show_bytes,
    show_count,
    show_hyperparameters,
    show_repeats,
    show_seconds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Entry:
    """One method of a comparison."""

    run: Run
    tuned: Tuned | None
    """The search for its hyper-parameters; None if they were given."""

    def final(self, metric: str, center: Center = "median") -> Spread:
        """The metric at the last step, as a median or mean and the spread over the seeds."""
        return Spread(self.run.final(metric).tolist(), center)


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`, which prints as a table of methods with the lowest median first."""

    entries: Sequence[Entry]
    """One entry per method, in the order in which the methods were given."""

    def ranked(self, metric: str | None = None, *, center: Center = "median") -> list[Entry]:
        """The entries sorted by the final median (or mean) of a metric, the lowest first.

        By default the metric is the one that the methods were tuned by.
        """
        name = self.metric if metric is None else metric
        return sorted(self.entries, key=lambda entry: entry.final(name, center).middle)

    @property
    def metric(self) -> str:
        """The metric that the methods were tuned by."""
        return self.entries[0].run.main_metric

    def table(self, metric: str | None = None, *, center: Center = "median") -> Table:
        """Hyper-parameters, final metric and costs of every method, the lowest median first.

        Costs that are the same for all methods, and the extent of each search, are printed below
        the table; in CSV and pandas they are columns.

        Args:
            metric: by default the one that the methods were tuned by.
            center: "median" shows the median and the range over the seeds, "mean" the mean ±
                standard deviation. The rows are sorted by this median or mean.
        """
        name = self.metric if metric is None else metric
        ranked = self.ranked(name, center=center)
        final = [entry.final(name, center) for entry in ranked]
        columns = [
            Column("method", self._labels(ranked), "method"),
            Column("hyperparameters", list(map(_setting, ranked)), "hyper-parameters"),
            Column(name, final, f"final {name}, {SPREADS[center]}"),
        ]
        costs = _costs(ranked)
        notes = [*_shared_costs(costs), *(line for one in self.entries for line in _search(one))]
        return Table([*columns, *costs, *_budgets(ranked)], notes)

    def curves(self) -> Table:
        """One row per recorded number: method, hyper-parameters, seed, step, metric, value."""
        return curves([entry.run for entry in self.entries])

    def plot(
        self,
        metric: str | None = None,
        *,
        x: Against = "steps",
        center: Center = "median",
        band: Band = (0.0, 1.0),
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw a metric of every method, by default the one they were tuned by; see `Run.plot`."""
        runs = [(name, e.run) for name, e in zip(self.names, self.entries, strict=True)]
        shown = self.metric if metric is None else metric
        return draw_runs(runs, shown, x, ax, center=center, band=band)

    @property
    def names(self) -> list[str]:
        """Of the entries: methods, with their hyper-parameters where there are several settings.

        No two are the same.
        """
        labels = [entry.run.label for entry in self.entries]
        several = {label for label in labels if labels.count(label) > 1}
        names = [e.run.title if e.run.label in several else e.run.label for e in self.entries]
        return [name + mark for name, mark in zip(names, show_repeats(names), strict=True)]

    def _labels(self, entries: Sequence[Entry]) -> list[str]:
        """The methods of some entries, numbered where their settings look alike, too."""
        marks = show_repeats([(entry.run.label, _setting(entry)) for entry in self.entries])
        mark = {id(entry): mark for entry, mark in zip(self.entries, marks, strict=True)}
        return [entry.run.label + mark[id(entry)] for entry in entries]

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        """In notebooks: the table above the curves."""
        from gossamer.display import picture

        curves = picture(lambda ax: self.plot(ax=ax), f"{self.metric} of every method")
        return f"{self.table()._repr_html_()}{curves}"


COST_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "gradients": ("gradients", show_count),
    "messages": ("messages", show_count),
    "bytes": ("sent per node", show_bytes),
    "seconds": ("seconds", show_seconds),
}
"""Cost → the head of its column, and how it is written there."""


def _setting(entry: Entry) -> str:
    tuned = "" if entry.tuned is None else " (tuned)"
    return show_hyperparameters(entry.run.hyperparameters) + tuned


def _costs(entries: Sequence[Entry]) -> list[Column]:
    """A column for each cost, printed if it differs between the methods."""
    known = [cost for cost in COSTS if all(cost in entry.run.metrics for entry in entries)]
    found = []
    for cost in known:
        spent, (head, show) = [entry.final(cost).middle for entry in entries], COST_COLUMNS[cost]
        found.append(Column(cost, spent, head if len(set(spent)) > 1 else None, show))
    return found


def _shared_costs(costs: Sequence[Column]) -> list[str]:
    """What every method spends, as a sentence."""
    units = {"bytes": "", "seconds": " seconds", "gradients": " gradients", "messages": " messages"}
    known = [c for c in costs if c.head is None and math.isfinite(c.cells[0])]
    shared = [f"{c.show(c.cells[0])}{units[c.name]}" for c in known]
    return [f"The same for all methods, per node: {', '.join(shared)}."] if shared else []


def _search(entry: Entry) -> list[str]:
    """What a tuned method was given to be as good as it is."""
    if entry.tuned is None:
        return []
    facts = [f"tuned over {entry.tuned.budget}", entry.tuned.at_the_edge]
    return [f"{entry.run.label}: {fact}" for fact in facts if fact]


def _budgets(entries: Sequence[Entry]) -> list[Column]:
    """What was tried for each method; nothing where its hyper-parameters were given."""
    tried = [{} if entry.tuned is None else _budget(entry.tuned) for entry in entries]
    names = dict.fromkeys(name for budget in tried for name in budget)
    return [Column(name, [budget.get(name) for budget in tried]) for name in names]


def _budget(tuned: Tuned) -> dict[str, int | str]:
    settings, seeds = tuned.search.diverged_at.shape
    return {
        "tuning settings": settings,
        "tuning seeds": seeds,
        "tuning steps": tuned.search.run_steps,
        "tuning edge": tuned.at_the_edge,
    }


def side_by_side(
    comparisons: Mapping[str, Comparison],
    metric: str | None = None,
    *,
    center: Center = "median",
) -> Table:
    """One table of several comparisons: a row for each method, a column for each comparison.

    Args:
        comparisons: a dictionary from the head of a column (e.g. the name of a network) to the
            comparison.
        metric: by default the one that the methods of the first comparison were tuned by.
        center: as in `Comparison.table`.

    >>> import gossamer as gs
    >>> problem, methods = gs.Quadratic(8, 4), [gs.GTDSGD(lr=0.1), gs.DSGD(lr=0.1)]
    >>> networks = {"ring": gs.ring(8), "complete": gs.complete(8)}
    >>> found = {k: gs.compare(methods, problem, net, steps=50) for k, net in networks.items()}
    >>> gs.side_by_side(found)
    method   ring                  complete
    GT-DSGD  0.268 [0.268, 0.268]  0.268 [0.268, 0.268]
    DSGD     0.294 [0.294, 0.294]  0.268 [0.268, 0.268]
    Final error, median [range].
    """
    require(len(comparisons) > 0, "comparisons", comparisons, "at least one")
    name = next(iter(comparisons.values())).metric if metric is None else metric
    found = {k: dict(zip(one.names, one.entries, strict=True)) for k, one in comparisons.items()}
    methods = list(dict.fromkeys(method for by_method in found.values() for method in by_method))
    columns = [Column("method", methods, "method")]
    for head, entries in found.items():
        final = [entries[m].final(name, center) if m in entries else None for m in methods]
        columns.append(Column(head, final, head))
    searches = (
        (k, line) for k, one in comparisons.items() for e in one.entries for line in _search(e)
    )
    notes = [f"{head}, {line}" for head, line in searches]
    return Table(columns, [f"Final {name}, {SPREADS[center]}.", *notes])
