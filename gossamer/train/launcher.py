"""The processes of a training on this machine: started together, and none is left behind."""

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from gossamer.distributed.rendezvous import host_store
from gossamer.progress import show_cursor

POLL_SECONDS = 0.05
LAST_WORDS, GRACE = 1.0, 5.0
"""Seconds that the others have to say why they end, too, and to end when they are asked to."""

LOOPBACK = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), "lo")
if sys.platform != "linux":
    LOOPBACK = {}
"""The name that Linux has for the interface that leads nowhere else."""
PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def launch(
    command: Sequence[str],
    processes: int,
    max_restarts: int,
    environment: Mapping[str, str],
    outlive: bool,
    refused: Callable[[], bool],
) -> int:
    """Run `command` as that many ranks, again if one dies, and return the exit status.

    Nothing of it can be reached from another machine: the store and the ranks listen on the
    loopback interface, unless the environment names another one.

    Args:
        command: what each rank runs.
        processes: how many ranks there are.
        max_restarts: how often all are started again after the death of one.
        environment: what they are told besides torchrun's variables.
        outlive: whether the others go on when one dies.
        refused: whether a rank has refused the input; then all end, and are not started again.
    """
    store = host_store("127.0.0.1")
    world = {"WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes, "MASTER_ADDR": "127.0.0.1"}
    world |= {"MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True}
    status = 0
    for attempt in range(max_restarts + 1):
        if attempt:
            print(f"Starting again, {attempt} of {max_restarts}.", file=sys.stderr, flush=True)
        told = world | {"TORCHELASTIC_RESTART_COUNT": attempt}
        shared = {**LOOPBACK, **environment, **{name: str(value) for name, value in told.items()}}
        ranks = [shared | {"RANK": str(r), "LOCAL_RANK": str(r)} for r in range(processes)]
        status = _run(command, ranks, outlive, refused)
        if status == 0 or refused():
            break
    return status


def _run(
    command: Sequence[str],
    ranks: Sequence[Mapping[str, str]],
    outlive: bool,
    refused: Callable[[], bool],
) -> int:
    """One attempt: 0 if all ended well, or all that were left."""
    with _ending_them() as workers:
        for variables in ranks:
            workers.append(_start(command, variables))
        while any(worker.poll() is None for worker in workers) and not refused():
            if not outlive and any(worker.poll() for worker in workers):
                time.sleep(LAST_WORDS)
                break
            time.sleep(POLL_SECONDS)
        found = [worker.poll() for worker in workers]
    for rank, status in enumerate(found):
        if status:
            how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            print(f"Rank {rank} ended with {how}.", file=sys.stderr, flush=True)
    failed = [abs(status) for status in found if status]
    survived = outlive and 0 in found and not any(status and status > 0 for status in found)
    return 0 if survived or not failed else failed[0]


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A rank, in a group of its own: Ctrl-C is the launcher's to hear, not everybody's."""
    in_child = _die_with_parent if sys.platform == "linux" else None
    return subprocess.Popen(command, env=variables, process_group=0, preexec_fn=in_child)


@contextmanager
def _ending_them() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A list of processes that end with the block, also when this one is told to end."""
    workers: list[subprocess.Popen[bytes]] = []
    before = {number: signal.signal(number, _raise) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield workers
    finally:
        for worker in workers:
            worker.terminate()
        deadline = time.monotonic() + GRACE
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(max(0.0, deadline - time.monotonic()))
            worker.kill()
            worker.wait()
        show_cursor()
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _die_with_parent() -> None:
    """In a new process of Linux: be killed when the launcher ends, however that happens."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
