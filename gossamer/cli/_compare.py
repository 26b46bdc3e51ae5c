"""`gossamer compare`: any methods × network × noise × problem, one figure and one table."""

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gossamer.algorithms import named
from gossamer.cli.comparison import say_table, say_winner
from gossamer.cli.machines import machine_options, machines
from gossamer.cli.own_code import import_option
from gossamer.cli.task import DEFAULT_NOISE, build_task, network_option, problem_option
from gossamer.cli.terminal import say
from gossamer.errors import choice, require, whole
from gossamer.noise import NOISES
from gossamer.own_names import own_metric
from gossamer.report.figures import FORMATS
from gossamer.simulation import Clock, Comparison, Table, main_metric
from gossamer.simulation import compare as compare_methods
from gossamer.simulation._compare import example, require_measurable
from gossamer.simulation.picture import AXES, Against
from gossamer.simulation.tuning_seeds import default_tuning_seeds
from gossamer.spec import build


@click.command()
@click.option(
    "--algorithm",
    "-a",
    "algorithms",
    multiple=True,
    required=True,
    help="A method, repeatable: 'DSGD(lr=0.01)' as given, 'DSGD' or 'PushSum(DSGD)' is tuned.",
)
@import_option
@network_option
@click.option(
    "--noise",
    default=DEFAULT_NOISE,
    show_default=True,
    help="A noise, or 'none'.",
)
@problem_option
@click.option("--steps", default=2000, show_default=True, help="T, the length of every run.")
@click.option(
    "--seeds",
    default=5,
    show_default=True,
    help="How many seeds to report: 0, 1, … (In Python, seeds=2 is the one seed 2.)",
)
@click.option(
    "--tuning-seeds",
    default=2,
    show_default=True,
    help="How many other seeds to tune on: 1000000, 1000001, …",
)
@click.option(
    "--metric",
    default=None,
    help="What to show; by default, and always to tune, the error, or the loss.",
)
@click.option(
    "--against",
    default="steps",
    show_default=True,
    help="What to draw it against: steps, gradients, messages, bytes or seconds (by --clock).",
)
@click.option(
    "--clock",
    default=None,
    help="A model of time, e.g. 'Clock(latency=0.001, bandwidth=1e9, gradient=0.02)'.",
)
@click.option("--out", default="compare", show_default=True, help="Stem of .png, .svg, .pdf, .csv.")
@click.option("--store", default=None, help="Folder of runs: only what it lacks is computed.")
@machine_options
@click.option("--table", default=None, help="Also write the table, as LaTeX (.tex) or .csv.")
def compare(
    algorithms: Sequence[str],
    network: str | None,
    noise: str,
    problem: str | None,
    steps: int,
    seeds: int,
    tuning_seeds: int,
    metric: str | None,
    against: str,
    clock: str | None,
    out: str,
    store: str | None,
    jobs: int,
    cluster: str | None,
    table: str | None,
) -> None:
    """Compare methods on one network, noise and problem.

    A method without parameters is tuned by halving, on seeds other than those reported.

    \b
    gossamer compare -a GTNSGDm -a DSGD -a SClipEF
    gossamer compare -a 'GTNSGDm(lr=0.01, momentum=0.8)' -n 'torus(4, 5)'
    gossamer compare -a GTDSGD -a DSGD -p 'Quadratic(8, 50)' --noise none
    gossamer compare -a GTNSGDm -a DSGD -n 'ring(20).every(5)' --against bytes
    gossamer compare --import mine.py -a MyMethod -a DSGD -p my_problem
    """  # fmt: skip
    whole("seeds", seeds, 1)
    whole("tuning-seeds", tuning_seeds, 1)
    whole("steps", steps, 1)
    methods = [named(text) for text in algorithms]
    net, task = build_task(network, problem)
    law = None if noise == "none" else build("noise", noise, NOISES)
    timer = None if clock is None else build("clock", clock, {"Clock": Clock})
    axis = _axis(against, timer)
    main = main_metric(task)
    shown = main if metric is None else metric
    recorded = [own_metric(name) for name in dict.fromkeys([main, shown])]
    require_measurable(recorded, [example(method) for method in methods], task, net)
    path = _writable(_stem(Path(out)))
    write_table = None if table is None else _table_writer(_writable(Path(table)))
    say(f"{task.describe()['name']} on {net.name}, noise {noise}, {steps:,} steps.")
    say(f"Network: {net}.")
    arguments: dict[str, Any] = {"noise": law, "steps": steps, "metrics": recorded, "clock": timer}
    with machines(jobs, cluster) as executor:
        arguments |= {"seeds": range(seeds), "tuning_seeds": default_tuning_seeds(tuning_seeds)}
        arguments |= {"store": store, "executor": executor}
        found = compare_methods(methods, task, net, **arguments)
    _draw(found, shown, axis, path)
    found.curves().to_csv(path.with_name(f"{path.name}.csv"))
    say_table(found, shown)
    say(f"Written: {path}.png, .svg, .pdf and .csv.")
    if write_table is not None:
        write_table(found.table(shown))
        say(f"Written: {table}.")
    say_winner(found, shown, against)
    if store is None:
        say("Next: `--store FOLDER` keeps the runs, and `gossamer watch FOLDER` shows them.")
    else:
        say(f"Next: `gossamer watch {shlex.quote(store)}` shows the curves of all stored runs.")


def _stem(path: Path) -> Path:
    """Without the ending of a file that is written anyway: `x.png` is x."""
    known = path.suffix.removeprefix(".") in (*FORMATS, "csv")
    return path.with_suffix("") if known else path


def _table_writer(path: Path) -> Callable[[Table], object]:
    """What writes a table in the form that the ending of the file says."""
    need = "a file name that ends in .tex or .csv"
    require(path.suffix in (".tex", ".csv"), "table", path.name, need)
    if path.suffix == ".csv":
        return lambda table: table.to_csv(path)
    return lambda table: path.write_text(f"{table.to_latex()}\n", encoding="utf-8")


def _writable(stem: Path) -> Path:
    """A stem that files can be written at, its folder made."""
    require(stem.name != "", "out", repr(str(stem)), "the stem of file names", "e.g. compare")
    stem.parent.mkdir(parents=True, exist_ok=True)
    writable = os.access(stem.parent, os.W_OK)
    require(writable, "out", stem, "a folder that can be written to", "choose another --out")
    return stem


def _axis(against: str, clock: Clock | None) -> Any:
    """What to draw against, refused where nothing tells it."""
    choice("against", against, AXES)
    told, way_out = against != "seconds" or clock is not None, "pass --clock"
    require(told, "against", "seconds without a clock", "a model of time", way_out)
    return against


def _draw(found: Comparison, metric: str, x: Against, path: Path) -> None:
    from gossamer.plots import panels, style
    from gossamer.report.figures import save_figure

    with style():
        figure, (ax,) = panels(1, width=5.5, height=max(3.8, 0.3 * len(found.entries)))
        found.plot(metric, x=x, ax=ax)
        save_figure(figure, path)
