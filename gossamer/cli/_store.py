"""`gossamer store`: what a folder of runs holds; merge folders, write a table."""

from pathlib import Path

import click

from gossamer.errors import require
from gossamer.simulation import Store


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
    for name in (*merge, *([] if merge else [folder])):
        require(Path(name).is_dir(), "folder", name, "a folder that is there")
    kept = Store(folder)
    for other in merge:
        click.echo(f"{other}: {kept.merge(other)} files copied.")
    _show(kept)
    if table is not None:
        click.echo(f"Written: {table}, {kept.export(table):,} numbers.")


def _show(kept: Store) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table("method", "problem", "network", "noise", "runs", "steps", box=None)
    for task in kept.tasks():
        reached = task.reached
        steps = f"{max(reached.values(), default=0):,}"
        words = [task.words[name] for name in ("method", "problem", "network", "noise")]
        shown.add_row(*words, f"{len(reached):,}", steps)
    Console().print(shown)
