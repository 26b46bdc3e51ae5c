"""`gossamer watch`: a study, stored runs or a training in the browser, while they run."""

from contextlib import suppress
from pathlib import Path

import click

from gossamer.cli.own_code import import_option
from gossamer.cli.terminal import say
from gossamer.errors import require


@click.command()
@click.argument("folder")
@import_option
@click.option("--port", default=0, help="Where to listen; by default a port that is free.")
def watch(folder: str, port: int) -> None:
    """Show in a browser what runs write to FOLDER, while they write it.

    FOLDER holds results of `gossamer run`, runs of `gossamer compare --store` or
    checkpoints of `gossamer train`, or several of them. The page has their
    curves, how far they are, and the verdicts of experiments that are complete.
    It can be opened on this machine only.

    \b
    gossamer watch runs
    gossamer watch checkpoints --port 8000
    """
    from gossamer.watch import Server, Watched

    way_out = "start the run that writes it, or make it with mkdir"
    require(Path(folder).is_dir(), "folder", folder, "an existing folder", way_out)
    with Server(Watched(folder), port) as server, suppress(KeyboardInterrupt):
        say(f"Open {server.address} in a browser of this machine to watch {folder}.")
        say("What is written there appears by itself. Press Ctrl-C to end.")
        server.serve_forever()
