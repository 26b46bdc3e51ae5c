"""Who computes: this process, several on this machine, or a cluster."""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import click

from gossamer.errors import InvalidInput, require
from gossamer.executors import ThisProcess, Workers
from gossamer.user_file import LOADED

SECONDS_TO_ANSWER = 10


def machine_options(command: Any) -> Any:
    """The options that say who computes."""
    jobs = click.option(
        "--jobs", "-j", default=1, show_default=True, help="How many processes of this machine."
    )
    cluster = click.option(
        "--cluster", default=None, help="Address of a Dask scheduler, e.g. tcp://10.0.0.5:8786."
    )
    return jobs(cluster(command))


@contextmanager
def machines(jobs: int, cluster: str | None) -> Iterator[Executor]:
    """The executor that the two options name."""
    alone = cluster is None or jobs == 1
    require(alone, "jobs", jobs, "one of --jobs and --cluster", "a cluster has its own workers")
    if cluster is not None:
        with _dask(cluster) as executor:
            yield executor
    elif jobs == 1:
        yield ThisProcess()
    else:
        with Workers(jobs) as executor:
            yield executor


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError:
        raise InvalidInput(
            f"cluster: got {address}, need Dask; install it with pip install 'gossamer[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as reason:
        raise InvalidInput(
            f"cluster: no scheduler answers at {address} ({reason}); "
            "start one with `dask scheduler`"
        ) from reason
    with client:
        for file in LOADED:
            client.upload_file(str(file))  # other machines do not have it
        yield client.get_executor()
