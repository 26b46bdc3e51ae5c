"""`gossamer list`, `run` and `report`: the experiments, from stored results where there are any."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gossamer.errors import choice, require
from gossamer.experiments import Experiment, Options, Store, run_experiment
from gossamer.studies import EXPERIMENTS

DEFAULT_OUT = "runs"


def study_options(command: Any) -> Any:
    """The options that name a study: its size, seed and folder."""
    for option in (
        click.option(
            "--seed", default=0, show_default=True, help="Shifts every seed of the study."
        ),
        click.option(
            "--out", default=DEFAULT_OUT, show_default=True, help="Folder of the results."
        ),
        click.option("--full", is_flag=True, help="The paper-sized study (half an hour)."),
    ):
        command = option(command)
    return command


device_option = click.option(
    "--device", default="cpu", show_default=True, help="Where the study is simulated: cpu or cuda."
)


@click.command("list")
@study_options
@device_option
def list_(full: bool, out: str, seed: int, device: str) -> None:
    """List the experiments and what is stored of them.

    Files that are damaged or of another seed or device are counted as refused.

    \b
    gossamer list
    gossamer list --full --out paper-sized
    """
    from rich.console import Console
    from rich.table import Column, Table

    options = Options(full, seed, device)
    store = Store(Path(out) / options.profile)
    name = Column("name", no_wrap=True)
    table = Table(name, "what it shows", "study", "stored", box=None, pad_edge=False)
    for experiment in EXPERIMENTS.values():
        stored, refused = store.count(experiment, options)
        stored_of = f"{stored} of {len(experiment.units(options))}"
        stored_of += f", {refused} refused" if refused else ""
        table.add_row(experiment.name, experiment.title, experiment.study, stored_of)
    Console().print(table)
    click.echo(
        "\nRun one with `gossamer run NAME`, the synthetic study with `gossamer run all`, the "
        "\nTransformers with `gossamer run language` (paper-sized: add --full --device cuda)."
    )


@click.command()
@click.argument("name")
@study_options
@device_option
@click.option("--force", is_flag=True, help="Forget what is stored and start over.")
def run(name: str, full: bool, out: str, seed: int, device: str, force: bool) -> None:
    """Run the experiment NAME, or a study.

    `all` is the synthetic study, `language` trains the Transformers.

    Results are stored unit by unit: interrupt at any time, and the same command goes on where it
    stopped. What is stored already costs nothing.

    \b
    gossamer run claim-1
    gossamer run all
    gossamer run ring-noise --full --out paper-sized
    gossamer run language --full --device cuda
    """
    chosen = _chosen(name)
    options = Options(full, seed, check_device(device))
    store = Store.open(out, options)
    for experiment in (EXPERIMENTS[key] for key in chosen):
        if force:
            store.forget(experiment, experiment.units(options))
        store.missing(experiment, options)  # refuse what is damaged before any work
    click.echo(f"Results go to {store.root}, one file per unit of work.")
    if full and device == "cpu" and any(EXPERIMENTS[k].study == "language" for k in chosen):
        click.echo("Transformers of the paper's size take days on a CPU; add --device cuda.")
    for key in chosen:
        _run(EXPERIMENTS[key], options, store)
    flags = _flags(options, out, chosen)
    click.echo(f"\nDone. `gossamer report{flags}` draws the figures and the page.")


def _chosen(name: str) -> list[str]:
    """The experiments that a name stands for."""
    studies = {"all": "synthetic", "language": "language"}
    if choice("name", name, [*EXPERIMENTS, *studies]) in EXPERIMENTS:
        return [name]
    return [key for key, experiment in EXPERIMENTS.items() if experiment.study == studies[name]]


def _run(experiment: Experiment, options: Options, store: Store) -> None:
    click.echo(f"\n{experiment.name}: {experiment.title}")
    start = time.perf_counter()

    def notify(unit: str, done: int, total: int) -> None:
        click.echo(f"  [{done + 1}/{total}] {unit}")

    computed = run_experiment(experiment, options, store, notify=notify)
    elapsed = time.perf_counter() - start
    click.echo(f"  computed in {elapsed:.0f} s" if computed else "  stored already")


@click.command()
@study_options
@device_option
def report(full: bool, out: str, seed: int, device: str) -> None:
    """Write the figures and the page from stored results.

    Experiments that are not complete yet are named in the page and left out.

    \b
    gossamer report
    gossamer report --full --out paper-sized
    """
    from gossamer.report import write_report

    options = Options(full, seed, device)
    path = write_report(EXPERIMENTS, Store(Path(out) / options.profile), options)
    click.echo(f"Figures: {path.parent / 'figures'}\nReport:  {path.resolve()}")


def check_device(device: str) -> str:
    """A device torch can use here, or a clear error."""
    import torch

    choice("device", device, ("cpu", "cuda"))
    usable = device == "cpu" or torch.cuda.is_available()
    missing = "a CUDA device, and torch sees none here"
    require(usable, "device", repr(device), missing, "use --device cpu")
    return device


def _flags(options: Options, out: str, chosen: list[str]) -> str:
    """What `report` must be told; Transformers are read wherever they were trained."""
    synthetic = any(EXPERIMENTS[key].study == "synthetic" for key in chosen)
    needed = options if synthetic else replace(options, device="cpu")
    return needed.flags(out if out != DEFAULT_OUT else None)
