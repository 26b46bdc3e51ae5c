"""Where the ranks find each other: one of torch's stores, and who of them has come to it."""

import os
import socket
import time
from collections.abc import Sequence
from datetime import timedelta

from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.distributed.distributed_c10d import PrefixStore, Store

from gossamer.errors import InvalidInput, require

POLL_SECONDS = 0.02
WAITING = 2048
"""Ranks that may knock at the same moment."""

LARGEST_PORT = (1 << 16) - 1

LONGEST_TIMEOUT = 1e6
"""Seconds that the system's own waiting can count."""


def require_timeout(timeout: float) -> None:
    """Refuse what cannot be waited for.

    >>> require_timeout(float("inf"))
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: timeout: got inf, need a number of seconds above 0, at most 1e+06
    """
    admissible = f"a number of seconds above 0, at most {LONGEST_TIMEOUT:g}"
    require(0 < timeout <= LONGEST_TIMEOUT, "timeout", timeout, admissible)


def place_in_world() -> tuple[int, int]:
    """This process's rank, and how many there are, as the environment says."""
    size = _number("WORLD_SIZE")
    require(size >= 1, "WORLD_SIZE", size, "an integer of at least 1")
    _require_port(_number("MASTER_PORT"), size)
    processes_here(size)
    return _number("RANK"), size


def _require_port(port: int, size: int) -> None:
    """Refuse a port that does not exist; 0, which means any, is one that others cannot know."""
    least = 1 if size > 1 else 0
    admissible = f"an integer in [{least}, {LARGEST_PORT}]"
    require(least <= port <= LARGEST_PORT, "MASTER_PORT", port, admissible)


def processes_here(everyone: int) -> int:
    """How many of `everyone` are on this host, as the environment says; all if it says nothing."""
    if "LOCAL_WORLD_SIZE" not in os.environ:
        return everyone
    here = _number("LOCAL_WORLD_SIZE")
    require(here >= 1, "LOCAL_WORLD_SIZE", here, "an integer of at least 1")
    return here


def require_in_world(rank: int, size: int) -> None:
    """Refuse a rank that the world does not have; a run that has begun may let it in.

    >>> require_in_world(7, 4)
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: RANK: got 7, need an integer in [0, 3]; further ranks can join
    when the run has begun
    """
    way_out = "further ranks can join when the run has begun"
    require(0 <= rank < size, "RANK", rank, f"an integer in [0, {size - 1}]", way_out)


def _number(variable: str) -> int:
    """An environment variable that must be an integer."""
    text = os.environ[variable]
    require(text.strip().isdecimal(), variable, repr(text), "an integer of at least 0")
    return int(text)


def open_store(rank: int, timeout: float, patience: float | None = None) -> Store:
    """The store at `MASTER_ADDR` and `MASTER_PORT`, with keys of this attempt's own.

    Rank 0 makes it, listening at that address only, unless torchrun or the user has made one
    (`TORCHELASTIC_USE_AGENT_STORE=True`). Workers that torchrun restarts must not read the keys of
    the attempt that died. `patience` is for how long others wait for rank 0, by default `timeout`.
    """
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    made = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    if rank == 0 and not made:
        store = host_store(address, port, timeout)
    else:
        await_store(address, port, patience or timeout)
        store = TCPStore(address, port, timeout=timedelta(seconds=timeout))
    return PrefixStore(f"attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def host_store(address: str, port: int = 0, timeout: float = 60.0) -> TCPStore:
    """A store that listens at `address` only, where torch's own would listen at all; 0: any port.

    >>> store = host_store("127.0.0.1")
    >>> store.set("greeting", "hello")
    >>> store.get("greeting")
    b'hello'
    """
    try:
        listener = _listener(address, port)
    except OSError as reason:
        way_out = "choose another MASTER_PORT, or an address of this machine as MASTER_ADDR"
        problem = f"store: cannot listen at {address}:{port} ({reason.strerror}); {way_out}"
        raise InvalidInput(problem) from reason
    return TCPStore(
        address,
        listener.getsockname()[1],
        is_master=True,
        wait_for_workers=False,
        timeout=timedelta(seconds=timeout),
        master_listen_fd=listener.detach(),
    )


def _listener(address: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family, kind, protocol, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(WAITING)
    except OSError:
        listener.close()
        raise
    return listener


def await_store(address: str, port: int, timeout: float) -> None:
    """Wait until somebody listens there; torch would print a trace at every attempt."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection((address, port), timeout).close()
            return
        except OSError as reason:
            if time.monotonic() > deadline:
                way_out = "start rank 0 there, or check MASTER_ADDR and MASTER_PORT"
                problem = f"nobody answers at {address}:{port} within {timeout:g} s ({reason})"
                raise ConnectionError(f"{problem}; {way_out}") from reason
            time.sleep(POLL_SECONDS)


def await_ranks(store: Store, rank: int, size: int, timeout: float) -> None:
    """Say that this rank has come, and wait until all have; the error names those that have not.

    >>> from torch.distributed import HashStore
    >>> await_ranks(HashStore(), rank=0, size=3, timeout=0.1)
    Traceback (most recent call last):
        ...
    ConnectionError: ranks 1, 2 of 3 did not connect within 0.1 s; start them, or a smaller network
    """
    require_in_world(rank, size)
    store.set(f"here_{rank}", "")
    missing, deadline = list(range(size)), time.monotonic() + timeout
    while missing and time.monotonic() < deadline:
        missing = [r for r in missing if not store.check([f"here_{r}"])]
        time.sleep(POLL_SECONDS if missing else 0)
    if missing:
        way_out = f"start {'them' if len(missing) > 1 else 'it'}, or a smaller network"
        who = f"{ranks_text(missing)} of {size}"
        raise ConnectionError(f"{who} did not connect within {timeout:g} s; {way_out}")


def ranks_text(ranks: Sequence[int]) -> str:
    """Some ranks in words.

    >>> ranks_text([2]), ranks_text([1, 3])
    ('rank 2', 'ranks 1, 3')
    """
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
