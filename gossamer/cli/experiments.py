"""`gossamer list`, `run` and `report`: the experiments, from stored results where there are any."""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import click

from gossamer.cli.machines import machine_options, machines
from gossamer.cli.own_code import import_option
from gossamer.cli.terminal import columns, echo, say
from gossamer.cli.verdicts import count_verdicts, say_verdicts
from gossamer.errors import choice
from gossamer.executors import ThisProcess
from gossamer.experiments import Options, Work
from gossamer.experiments.experiment import SIZES
from gossamer.experiments.work import writable_out
from gossamer.progress import several
from gossamer.studies import EXPERIMENTS

DEFAULT_OUT = "runs"


def study_options(command: Any) -> Any:
    """The options that name a study: its size, seed and folder."""
    for option in (
        import_option,
        click.option(
            "--seed", default=0, show_default=True, help="Shifts every seed of the study."
        ),
        click.option(
            "--out", default=DEFAULT_OUT, show_default=True, help="Folder of the results."
        ),
        click.option(
            "--size",
            type=click.Choice(SIZES),
            default="quick",
            show_default=True,
            help="How large: seconds, minutes, or as the paper's.",
        ),
    ):
        command = option(command)
    return command


@click.command("list")
@study_options
def list_(size: Any, out: str, seed: int) -> None:
    """List the experiments and what is stored of them.

    Damaged files and files of another seed are counted as refused.

    \b
    gossamer list
    gossamer list --size full --out paper-sized
    """
    from rich.console import Console
    from rich.table import Column, Table

    name, stored = Column("name", no_wrap=True), Column("stored", justify="right")
    table = Table(name, "what it shows", "study", stored, box=None, pad_edge=False)
    for experiment in EXPERIMENTS.values():
        work = Work.below(out, experiment, Options(size, seed))
        there, refused = work.count()
        stored_of = f"{there} of {len(work.units)}" + (f", {refused} refused" if refused else "")
        table.add_row(experiment.name, experiment.title, experiment.study, stored_of)
    Console(width=columns()).print(table)
    click.echo()
    say(
        "Next: `gossamer run claim-1` takes seconds, `gossamer run synthetic theory` minutes, and "
        "`gossamer run language` trains Transformers (as large as the paper's with `--size full "
        "--device cuda`)."
    )


@click.command()
@click.argument("names", nargs=-1, required=True)
@study_options
@click.option(
    "--device", default="cpu", show_default=True, help="Where it is computed: cpu or cuda."
)
@click.option("--force", is_flag=True, help="Forget what is stored and start over.")
@machine_options
def run(
    names: Sequence[str],
    size: Any,
    out: str,
    seed: int,
    device: str,
    force: bool,
    jobs: int,
    cluster: str | None,
) -> None:
    """Run the experiments or studies NAMES.

    A study is `synthetic`, `theory`, `methods` or `language`; `all` runs all four.

    Results are stored unit by unit: interrupt at any time, and the same command goes on where it
    stopped. What is stored already costs nothing.

    \b
    gossamer run claim-1
    gossamer run synthetic theory
    gossamer run ring-noise --size full --out paper-sized
    gossamer run language --size full --device cuda
    gossamer run synthetic --jobs 4
    gossamer run --import mine.py my-experiment
    """
    options, device = Options(size, seed), check_device(device)
    works = [Work.below(out, EXPERIMENTS[key], options) for key in chosen(names)]
    with machines(jobs, cluster) as executor:
        root = writable_out(Path(out) / options.size)
        for work in works:
            if force:
                work.forget(work.units)
            work.missing()  # refuse what is damaged before any work
        say(f"Results go to {root}, one file per unit of work.")
        if size == "full" and device == "cpu" and any(_trains(work) for work in works):
            say("Transformers of the paper's size take days on a CPU; add `--device cuda`.")
        missing = sum(len(work.missing()) for work in works)
        with several("gossamer run", missing) as one:
            for work in works:
                _run(work, device, executor, one)
    click.echo()
    if size == "test":
        say("The size `test` shows that everything runs; for results run a larger one.")
    say(count_verdicts(works))
    flags = options.flags(out if out != DEFAULT_OUT else None)
    say(f"Next: `gossamer report{flags}` draws the figures and writes the page.")


def _trains(work: Work) -> bool:
    return work.experiment.study == "language"


def studies() -> list[str]:
    """Those that experiments belong to.

    >>> studies()
    ['synthetic', 'theory', 'methods', 'language']
    """
    return list(dict.fromkeys(experiment.study for experiment in EXPERIMENTS.values()))


def chosen(names: Sequence[str]) -> list[str]:
    """The experiments that names stand for, each once.

    >>> chosen(["claim-1", "theory"])[:2]
    ['claim-1', 'rates']
    """
    meant: dict[str, None] = {}
    for name in names:
        choice("name", name, [*EXPERIMENTS, *studies(), "all"])
        meant |= {k: None for k, e in EXPERIMENTS.items() if name in (k, e.study, "all")}
    return list(meant)


def _run(work: Work, device: str, executor: Executor, one: Callable[[str], Any]) -> None:
    """Run an experiment, `one(name)` around each unit, and say what comes of it."""
    echo()
    say(f"{work.experiment.name}: {work.experiment.title}")
    start = time.perf_counter()

    def notify(unit: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():  # a terminal has the bar
            echo(f"  [{done + 1}/{total}] {unit}")

    here = isinstance(executor, ThisProcess)
    computed = work.run(device, executor=None if here else executor, notify=notify, part=one)
    elapsed = time.perf_counter() - start
    echo(f"  computed in {elapsed:.0f} s" if computed else "  stored already")
    say_verdicts(work)


@click.command()
@study_options
def report(size: Any, out: str, seed: int) -> None:
    """Write the figures and the page from stored results.

    Experiments that are not complete yet are named in the page and left out.

    \b
    gossamer report
    gossamer report --size full --out paper-sized
    """
    from gossamer.report import write_report

    options = Options(size, seed)
    path = write_report(EXPERIMENTS.values(), Path(out), options)
    click.echo(f"Figures: {path.parent / 'figures'}\nReport:  {path.resolve()}")
    say(count_verdicts([Work.below(out, one, options) for one in EXPERIMENTS.values()]))
    say("Next: open the report in a browser; `gossamer list` tells what is still missing.")


def check_device(device: str) -> str:
    """A device torch can use here, or a clear error."""
    from gossamer.devices import require_device

    choice("device", device, ["cpu", "cuda"])
    require_device(device, "use --device cpu")
    return device
