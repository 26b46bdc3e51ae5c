"""`gossamer compare`: any methods × network × noise × problem, one figure and one table."""

import csv
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gossamer.algorithms import ALGORITHMS, Algorithm
from gossamer.cli.task import DEFAULT_NOISE, build_task, network_option, problem_option
from gossamer.errors import choice, require, whole
from gossamer.networks import Network
from gossamer.noise import NOISES, Noise
from gossamer.problems import Problem
from gossamer.simulation import METRICS, Run, available_metrics, simulate, sweep
from gossamer.simulation.metrics import main_metric
from gossamer.spec import build, parse
from gossamer.studies.synthetic.grids import search_set
from gossamer.studies.synthetic.task import show_hyperparameters, spread


@dataclass(frozen=True)
class Row:
    """A method with its hyper-parameters and its runs."""

    method: str
    tuned: bool
    run: Run

    @property
    def hyperparameters(self) -> str:
        """As "lr = 0.01, momentum = 0.8"."""
        return show_hyperparameters(self.run.hyperparameters)


@click.command()
@click.option(
    "--algorithm",
    "-a",
    "algorithms",
    multiple=True,
    required=True,
    help="A method, repeatable: 'DSGD(lr=0.01)' as given, 'DSGD' alone is tuned.",
)
@network_option
@click.option(
    "--noise",
    default=DEFAULT_NOISE,
    show_default=True,
    help="A noise, or 'none'.",
)
@problem_option
@click.option("--steps", default=2000, show_default=True)
@click.option("--seeds", default=5, show_default=True, help="How many seeds to report.")
@click.option(
    "--metric",
    default=None,
    help="What to show; by default, and always to tune, the error, or the loss.",
)
@click.option("--out", default="compare", show_default=True, help="Stem of .png, .svg, .pdf, .csv.")
def compare(
    algorithms: Sequence[str],
    network: str,
    noise: str,
    problem: str | None,
    steps: int,
    seeds: int,
    metric: str | None,
    out: str,
) -> None:
    """Compare methods on one network, noise and problem.

    A method without parameters is tuned by halving, on seeds that are not reported.

    \b
    gossamer compare -a GTNSGDm -a DSGD -a SClipEF
    gossamer compare -a 'GTNSGDm(lr=0.01, momentum=0.8)' -n 'torus(4, 5)' --noise 'StudentT(1.5)'
    gossamer compare -a GTDSGD -a DSGD -p 'Quadratic(8, 50)' -n 'ring(8)' --noise none
    """  # fmt: skip
    whole("seeds", seeds, 1)
    whole("steps", steps, 1)
    methods = [_method(text) for text in algorithms]
    net, task = build_task(network, problem)
    law = None if noise == "none" else build("noise", noise, NOISES)
    metric = _metric(metric or main_metric(task), task, methods)
    path = _writable(Path(out))
    click.echo(f"{task.describe()['name']} on {net.name}, noise {noise}, {steps:,} steps.")
    click.echo(f"Writes {path}.png, .svg, .pdf and .csv.")
    rows = [_row(method, task, net, law, steps, seeds, metric) for method in methods]
    _draw(rows, metric, path)
    _write(rows, metric, path.with_name(f"{path.name}.csv"))
    show(rows, metric)


def _method(text: str) -> Algorithm[Any] | type[Algorithm[Any]]:
    """A method with its parameters, or its class where they are to be tuned."""
    name, positional, named = parse(text)
    if positional or named:
        return build("algorithm", text, ALGORITHMS)
    return ALGORITHMS[choice("algorithm", name, ALGORITHMS)]


def _metric(
    name: str, task: Problem, methods: Sequence[Algorithm[Any] | type[Algorithm[Any]]]
) -> str:
    """A metric that the problem and every method have."""
    choice("metric", name, METRICS)
    for method in methods:
        existing = available_metrics(task, method)
        called = method.__name__ if isinstance(method, type) else type(method).__name__
        among = f"names among {', '.join(existing)} on this problem with {called}"
        require(name in existing, "metric", repr(name), among)
    return name


def _writable(stem: Path) -> Path:
    """A stem that files can be written at, its folder made."""
    require(stem.name != "", "out", repr(str(stem)), "the stem of file names", "as 'compare'")
    stem.parent.mkdir(parents=True, exist_ok=True)
    writable = os.access(stem.parent, os.W_OK)
    require(writable, "out", stem, "a folder that can be written to", "choose another --out")
    return stem


def _row(
    method: Algorithm[Any] | type[Algorithm[Any]],
    task: Problem,
    net: Network,
    noise: Noise | None,
    steps: int,
    seeds: int,
    metric: str,
) -> Row:
    arguments: dict[str, Any] = {"noise": noise, "steps": steps}
    tuned = isinstance(method, type)
    if isinstance(method, type):
        click.echo(f"  tuning {method.__name__} …")
        grid, tuning = search_set(method), range(seeds, seeds + 2)
        found = sweep(method, grid, task, net, seeds=tuning, strategy="halving", **arguments)
        method = method(**found.best().hyperparameters)
    run = simulate(method, task, net, seeds=range(seeds), metrics=[metric], **arguments)
    return Row(type(method).__name__, tuned, run)


def _draw(rows: Sequence[Row], metric: str, path: Path) -> None:
    from gossamer.plots import colours, curve, panels, style
    from gossamer.report.figures import save_figure

    with style():
        figure, (ax,) = panels(1, width=5.5, height=3.8)
        for colour, row in zip(colours(), rows, strict=False):
            values = row.run.metrics[metric].tolist()
            label = f"{row.method} ({row.hyperparameters})"
            curve(ax, row.run.steps.tolist(), values, label, colour)
        positive = any((row.run.metrics[metric] > 0).any() for row in rows)
        scale = "log" if positive else "linear"
        ax.set(xlabel="step t", ylabel=metric.replace("_", " "), yscale=scale)
        ax.legend()
        save_figure(figure, path)


def _write(rows: Sequence[Row], metric: str, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "hyperparameters", "seed", "step", metric])
        for row in rows:
            for step, values in zip(row.run.steps.tolist(), row.run.metrics[metric], strict=True):
                for seed, value in zip(row.run.config["seeds"], values.tolist(), strict=True):
                    writer.writerow([row.method, row.hyperparameters, seed, step, value])


def show(rows: Sequence[Row], metric: str) -> None:
    """Print the table, the lowest median first."""
    from rich.console import Console
    from rich.table import Table

    table = Table("method", "hyper-parameters", f"final {metric}, median [range]", box=None)
    for row in sorted(rows, key=lambda row: _median(row.run, metric)):
        shown = row.hyperparameters + (" (tuned)" if row.tuned else "")
        table.add_row(row.method, shown, spread(row.run.final(metric).tolist()))
    Console(markup=False).print(table)


def _median(run: Run, metric: str) -> float:
    value = statistics.median(run.final(metric).tolist())
    return value if math.isfinite(value) else math.inf
