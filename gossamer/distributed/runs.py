"""The runs that ranks begin with one store, one after the other.

In the store, for run k:

    run_k/begun          yes: all ranks have connected
    run_k/late_r_of_n    yes: rank r of n was started after that, and nobody has let it in yet

A rank that is late may be let in by the others. But if all n ranks are late for a run, nobody is
left of it: they begin the next one.
"""

import time
from itertools import count

from torch.distributed.distributed_c10d import PrefixStore, Store

from gossamer.distributed.rendezvous import POLL_SECONDS
from gossamer.distributed.secret import opened, sealed


def present_run(store: Store, rank: int, size: int) -> tuple[Store, bool]:
    """The keys of the run in which this rank has a place, and whether it is late for it.

    >>> from torch.distributed import HashStore
    >>> store = HashStore()
    >>> first, late = present_run(store, rank=0, size=2)
    >>> begin(first)
    >>> late, present_run(store, rank=0, size=2)[1], present_run(store, rank=1, size=2)[1]
    (False, True, False)
    """
    for k in count():
        run = PrefixStore(f"run_{k}", store)
        if not _says_yes(run, "begun"):
            return run, False
        if rank < size:
            _say_yes(run, _late(rank, size))
        if not all_are_late(run, size):
            return run, True
    raise AssertionError


def begin(run: Store) -> None:
    """All ranks of the run have connected."""
    _say_yes(run, "begun")


def come_in(run: Store, rank: int, size: int) -> None:
    """The rank was let in."""
    run.delete_key(_late(rank, size))


def all_are_late(run: Store, size: int) -> bool:
    """Whether all ranks were started anew since the run began."""
    keys = [_late(rank, size) for rank in range(size)]
    return run.check(keys) and all(_says_yes(run, key) for key in keys)


def await_all_late(run: Store, size: int, timeout: float) -> bool:
    """Wait for that; returns whether it has come."""
    deadline = time.monotonic() + timeout
    while not all_are_late(run, size) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return all_are_late(run, size)


def _late(rank: int, size: int) -> str:
    return f"late_{rank}_of_{size}"


def _say_yes(run: Store, key: str) -> None:
    run.set(key, sealed(key, "yes"))


def _says_yes(run: Store, key: str) -> bool:
    return run.check([key]) and opened(key, run.get(key)) == "yes"
