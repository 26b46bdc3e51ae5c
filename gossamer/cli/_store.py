"""`gossamer store`: what a folder of runs holds; merge folders, write a table."""

import shlex
from pathlib import Path

import click

from gossamer.cli.terminal import say
from gossamer.errors import require
from gossamer.simulation import Store
from gossamer.simulation.stored_task import StoredTask, reached
from gossamer.text import aligned


@click.command()
@click.argument("folder")
@click.option("--merge", multiple=True, help="Another folder to copy from, repeatable.")
@click.option("--csv", "table", default=None, help="A file for all records, a number per line.")
def store(folder: str, merge: tuple[str, ...], table: str | None) -> None:
    """Show what a FOLDER of stored runs holds.

    It is the folder given to `gossamer compare --store`, or to `store=` in Python.

    \b
    gossamer store runs
    gossamer store runs --merge from-the-cluster
    gossamer store runs --csv runs.csv
    """
    way_out = "start the run that writes it"
    for name in (*merge, *([] if merge else [folder])):
        require(Path(name).is_dir(), "folder", name, "an existing folder", way_out)
    kept = Store(folder)
    for other in merge:
        say(f"{other}: {kept.merge(other)} files copied.")
    _show(kept)
    if table is not None:
        say(f"Written: {table}, {kept.export(table):,} numbers.")
    say(f"Next: `gossamer watch {shlex.quote(folder)}` shows the curves in a browser.")


def _show(kept: Store) -> None:
    """What was run, and below it the methods, how many runs of each, and how long."""
    groups: dict[tuple[str, ...], list[StoredTask]] = {}
    for task in kept.tasks():
        words = tuple(task.words[name] for name in ("problem", "network", "noise", "dtype"))
        groups.setdefault(words, []).append(task)
    runs = 0
    for (problem, network, noise, dtype), tasks in groups.items():
        say(f"{problem} on {network}, noise {noise}, {dtype}", then="  ")
        rows = [(task.words["method"], reached(task.read()).values()) for task in tasks]
        runs += sum(len(steps) for _, steps in rows)
        cells = [[m, f"{len(s):,}", f"{max(s, default=0):,}"] for m, s in rows]
        for line in aligned([["method", "runs", "steps"], *cells]):
            click.echo(f"  {line}")
    say(f"{runs:,} runs of {len(groups):,} {'task' if len(groups) == 1 else 'tasks'}.")
