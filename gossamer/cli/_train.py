"""`gossamer train`: a ready training script on several processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from gossamer.errors import whole


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": ["-h"]},
    add_help_option=False,
)
@click.option("--processes", default=4, show_default=True, help="Nodes on this machine.")
@click.option("--max-restarts", default=0, show_default=True, help="Restarts after a death.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def train(processes: int, max_restarts: int, arguments: tuple[str, ...]) -> None:
    """Train a model by name on several processes of this machine.

    They listen on this machine's loopback only; on several machines start torchrun with
    `-m gossamer.train` yourself.

    \b
    gossamer train --model mlp --data digits --lr 0.1 --momentum 0.8
    gossamer train --model gpt --data book.txt --lr 0.1 --momentum 0.8
    gossamer train --network 'torus(2, 2)' --lr 0.1 --momentum 0.8
    gossamer train --import mine.py --algorithm MyMethod --lr 0.1
    gossamer train --help                   all options
    """
    from gossamer.distributed.links.refusals import require_no_waiting
    from gossamer.distributed.survivors import enough_nodes, require_removable
    from gossamer.fit import require_fit
    from gossamer.train.config import make_algorithm, make_network, read_arguments
    from gossamer.train.launcher import launch
    from gossamer.train.refusal import VARIABLE, raising_refusals

    whole("processes", processes, 1)
    whole("max_restarts", max_restarts, 0)
    config = read_arguments(arguments)  # --help and bad input end here, not once per process
    method, network = make_algorithm(config), make_network(config.network, processes)
    require_fit(method, network)
    if not config.wait:
        require_no_waiting(method, network)
    outlive = config.on_peer_failure == "drop"
    if outlive:
        enough_nodes(config.min_nodes, processes)
        if "(" in config.network:
            require_removable(network)
    command = [sys.executable, "-m", "gossamer.train", *arguments]
    with raising_refusals() as variables:
        environment = _threads(processes) | os.environ | variables
        refused = Path(variables[VARIABLE]).exists
        with nullcontext() if config.checkpoints else _saying_that_nothing_is_kept():
            status = launch(command, processes, max_restarts, environment, outlive, refused)
    sys.exit(status)


@contextmanager
def _saying_that_nothing_is_kept() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        way_out = "with --checkpoints FOLDER the same command would go on from there"
        raise KeyboardInterrupt(f"nothing was stored; {way_out}") from None


def _threads(processes: int) -> dict[str, str]:
    """One each, as torchrun decides: more would wait for each other's cores."""
    return {"OMP_NUM_THREADS": "1"} if processes > 1 else {}
