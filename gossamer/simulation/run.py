"""What a simulation leaves: metrics, final parameters and everything needed to make it again."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor

from gossamer.algorithms.described_schedules import from_description
from gossamer.algorithms.schedule import Schedule
from gossamer.errors import require
from gossamer.sealed import read_sealed, undamaged, write_sealed
from gossamer.simulation.curves import curves
from gossamer.simulation.metrics import COSTS
from gossamer.simulation.picture import Against, Band, draw_runs
from gossamer.simulation.status import Status, count, statuses
from gossamer.simulation.table import Table
from gossamer.simulation.words import (
    Center,
    lines,
    recorded_metric,
    show_call,
    show_hyperparameters,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TENSORS = ("steps", "diverged_at", "steps_taken", "x")


@dataclass(frozen=True, repr=False, eq=False)
class Record:
    """The record of stacked runs; `Run` and `Sweep` say which runs, along which axes.

    Divergence is a result, not a crash: `diverged_at` holds the step after which a run was no
    longer finite, −1 if it never happened; its metrics are ∞ from then on.
    """

    steps: Tensor
    """Steps taken at each record, `(records,)`."""

    metrics: Mapping[str, Tensor]
    """Name → `(records, runs)`."""

    diverged_at: Tensor
    """`(runs,)`."""

    steps_taken: Tensor
    """`(runs,)`: all of them, or where the run diverged or a search ended it."""

    x: Tensor
    """Final parameters, `(nodes, runs, dim)`; NaN where the run did not finish."""

    config: Mapping[str, Any]
    """Method, problem, network, noise, seeds, precision and versions: plain JSON.

    `in_c` tells whether steps were taken in C, which may differ in the last digits.
    """

    @property
    def main_metric(self) -> str:
        """The first metric recorded: the error or the loss, unless others were asked for."""
        require(len(self._judged) > 0, "metrics", [], "at least one", "record some")
        return self._judged[0]

    @property
    def _judged(self) -> list[str]:
        """The metrics that say how good the runs are."""
        return [name for name in self.metrics if name not in COSTS]

    @property
    def run_steps(self) -> int:
        """What it cost: steps, summed over all runs."""
        return int(self.steps_taken.sum())

    @property
    def _flat_status(self) -> list[Status]:
        flat = self.diverged_at.flatten(), self.steps_taken.flatten()
        return statuses(*flat, self.config["steps"])

    @property
    def _task(self) -> dict[str, str]:
        """What the runs ran on, in words."""
        noise, steps = self.config["noise"], self.config["steps"]
        where = f"{self.config['dtype']} on {self.config['device']}"
        where += " in C" if self.config.get("in_c") else ""
        return {
            "problem": show_call(self.config["problem"]),
            "network": self.config["network"]["name"],
            "noise": "none" if noise is None else noise["name"],
            "steps": f"{steps:,}, recorded {len(self.steps)} times, {where}",
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one safetensors file, whole or not at all; its folder is made."""
        tensors = {f"metrics.{name}": value for name, value in self.metrics.items()}
        tensors |= {name: getattr(self, name) for name in TENSORS}
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        facts = {"config": json.dumps(dict(self.config), allow_nan=False)}
        write_sealed(Path(path), tensors, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; executes nothing from the file."""
        way_out = "give what `save` wrote"
        Path(path).stat()  # one that is not there is not damaged
        tensors, facts = read_sealed(Path(path), "path", way_out)
        with undamaged(Path(path), "path", way_out):
            config = json.loads(facts["config"])
            fields = {name: tensors[name] for name in TENSORS}
            metrics = {k: tensors[f"metrics.{k}"] for k in config["metrics"]}
        return cls(metrics=metrics, config=config, **fields)


@dataclass(frozen=True, repr=False, eq=False)
class Run(Record):
    """The result of `simulate`: the runs of one method with one setting, one run per seed.

    `metrics` maps names to values of shape `(records, seeds)`, recorded at the steps in `steps`,
    `(records,)`. Divergence is a result, not an error: `diverged_at`, `(seeds,)`, holds the step
    after which a run was no longer finite, or −1, and its metrics are ∞ from then on.
    `steps_taken`, `(seeds,)`, counts the steps of every run, `x` holds the final parameters,
    `(nodes, seeds, dim)`, and `config` says what was run, as plain JSON. `save(path)` writes all
    of it to a file, which `Run.load(path)` reads.
    """

    def __post_init__(self) -> None:
        one = "settings" not in self.config
        require(one, "run", "a whole sweep", "one setting", "Sweep.load(path).best() is one")

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The method's hyper-parameters, ready for its constructor."""
        stored = self.config["algorithm"]["hyperparameters"]
        return {name: from_description(value) for name, value in stored.items()}

    @property
    def label(self) -> str:
        """The method's name in papers, e.g. "GT-DSGD"."""
        return str(self.config["algorithm"]["label"])

    @property
    def status(self) -> list[Status]:
        """How the run of each seed ended."""
        return self._flat_status

    def final(self, metric: str | None = None) -> Tensor:
        """A metric at the last record, `(seeds,)`; by default the first metric recorded."""
        return self.metrics[recorded_metric(metric or self.main_metric, self.metrics)][-1]

    def plot(
        self,
        metric: str | None = None,
        *,
        x: Against = "steps",
        center: Center = "median",
        band: Band = (0.0, 1.0),
        ax: "Axes | None" = None,
        label: str | None = None,
    ) -> "Axes":
        """Draw a metric as a line, the median or mean over the seeds, with a band around it.

        Args:
            metric: by default the first one recorded.
            x: the horizontal axis: "steps", or what a node had spent by then, "gradients",
                "messages", "bytes" or "seconds".
            center: whether the line is the median or the mean over the seeds.
            band: two quantiles over the seeds, between which the band lies; by default the lowest
                and the highest value.
            ax: the matplotlib axes to draw on, which may show other lines already; a new figure if
                None.
            label: the label of the line; by default the method with its hyper-parameters.
        """
        named = (self.title if label is None else label, self)
        return draw_runs([named], metric or self.main_metric, x, ax, center=center, band=band)

    def curves(self) -> Table:
        """One row per recorded number: method, hyper-parameters, seed, step, metric, value."""
        return curves([self])

    @property
    def title(self) -> str:
        """The method with its hyper-parameters."""
        return f"{self.label} ({show_hyperparameters(self.hyperparameters)})"

    def facts(self) -> dict[str, str]:
        """What was run, how the runs ended, and the final value of the first metric, in words."""
        seeds = {"seeds": f"{len(self.diverged_at)}: {count(self.status)}"}
        main = self._judged[:1]
        return self._task | seeds | {f"final {k}": spread(self.final(k).tolist()) for k in main}

    def __repr__(self) -> str:
        return lines(self.title, self.facts())

    def _repr_html_(self) -> str:
        """In notebooks: the facts beside the curve."""
        from gossamer.display import beside, facts, picture

        told = facts(self.title, self.facts())
        if not self._judged:
            return told
        return beside(told, picture(lambda ax: self.plot(ax=ax, label=self.label), self.title))


def as_json(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as JSON gives them back, the numbers of numpy and torch as Python's.

    >>> import torch
    >>> as_json({"lr": torch.tensor([0.5, 1.0]), "nodes": (2, 3)})
    {'lr': [0.5, 1.0], 'nodes': [2, 3]}
    """
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=_plain))
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Schedule):
        return value.describe()
    need = "numbers, words, lists and dictionaries of them"
    require(hasattr(value, "tolist"), "describe", f"{value!r}", need, "give it a name")
    return value.tolist()
