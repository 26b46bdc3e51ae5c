"""The records of runs as one long table, which plots and statistics elsewhere can read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gossamer.simulation.table import Column, Table

if TYPE_CHECKING:
    from gossamer.simulation.run import Run

LAST = ("seed", "step", "metric", "value")


def curves(runs: "Sequence[Run]") -> Table:
    """A row for every run, seed, step and metric: its method, hyper-parameters and the value.

    A hyper-parameter that a method does not have is empty.
    """
    names = dict.fromkeys(name for run in runs for name in run.hyperparameters)
    long: dict[str, list[Any]] = {name: [] for name in ("method", *names, *LAST)}
    for run in runs:
        steps, seeds = run.steps.tolist(), run.config["seeds"]
        for metric, values in run.metrics.items():
            rows = len(steps) * len(seeds)
            own = {name: run.hyperparameters.get(name) for name in names}
            same = {"method": run.label, **own, "metric": metric}
            for name, value in same.items():
                long[name] += [value] * rows
            long["seed"] += list(seeds) * len(steps)
            long["step"] += [step for step in steps for _ in seeds]
            long["value"] += values.flatten().tolist()
    return Table([Column(name, cells, head=name) for name, cells in long.items()])
