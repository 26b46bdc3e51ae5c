"""Joining the process group that torchrun, or a script of yours, has prepared."""

import atexit
import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import torch
import torch.distributed as dist
import torch.distributed.nn.functional  # imported when joined, its defaults would hold the group
from torch.distributed.distributed_c10d import Store

from gossamer.distributed.collectives import connects_on_use, device_of, total
from gossamer.distributed.rendezvous import (
    await_ranks,
    open_store,
    place_in_world,
    require_in_world,
    require_timeout,
)
from gossamer.distributed.runs import all_are_late, await_all_late, begin, come_in, present_run
from gossamer.distributed.secret import refuse_strangers, require_secret, secret
from gossamer.errors import first_line, refuse

LAUNCH_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

NEWCOMER_SECONDS = 1.0
"""For which a rank beyond the world looks for a run, and one that is late for the other ranks."""

_store: Store | None = None
"""Where the ranks of this launch have found each other."""

_late: Callable[[], None] | None = None
"""For a rank that is late for a run: how it begins another one, if all ranks are late."""


def rendezvous_store() -> Store:
    """Where the ranks have found each other, which outlives every process group."""
    return _store or dist.distributed_c10d._get_default_store()


def is_late() -> bool:
    """Whether the others had begun when this rank came: it must be let in first."""
    return _late is not None and not dist.is_initialized()


def all_ranks_are_late() -> bool:
    """Whether all ranks were started anew, as this one was."""
    return all_are_late(rendezvous_store(), place_in_world()[1])


def begin_anew() -> None:
    """Begin another run, since all ranks are late for the one that had begun."""
    assert _late is not None
    _late()


def let_in() -> None:
    """Note that this rank, which was late, has been let in."""
    come_in(rendezvous_store(), *place_in_world())


def is_launched() -> bool:
    """Whether the environment says which rank of which world this process is.

    One that says a part of it is refused: each process would train alone. Some launchers always
    say that the world has one process, which is true of a process that is alone.
    """
    told = {name: os.environ[name] for name in LAUNCH_VARIABLES if name in os.environ}
    missing = [name for name in LAUNCH_VARIABLES if name not in told]
    alone = told.get("WORLD_SIZE") == "1" and told.get("RANK", "0") == "0"
    if missing and {"RANK", "WORLD_SIZE"} & set(told) and not alone:
        known = ", ".join(f"{name}={value}" for name, value in told.items())
        way_out = "start the processes by torchrun, or set all four on each of them"
        refuse("environment", known, f"{' and '.join(missing)}, too", way_out)
    return not missing


def join(timeout: float = 60.0, backend: str | None = None) -> int:
    """Join the process group that torchrun's environment variables describe, and return the rank.

    It calls `torch.distributed.init_process_group`, and also does the following, which long runs
    need. The process is assigned the GPU of its `LOCAL_RANK`, if there are GPUs. The ranks find
    each other through torch's store, a server. If rank 0 starts the store, the store listens at
    `MASTER_ADDR` only. If ranks are missing, the error names them. Workers that were restarted by
    `torchrun --max-restarts` do not read what the failed attempt left in the store. If the
    environment variable `GOSSAMER_SECRET` is set, ranks that do not know the secret are refused,
    and the error names them. With `TORCH_GLOO_LAZY_INIT=1`, the secret is checked only when the
    optimizer is created.

    `join` returns when all ranks have connected. So no rank can end, e.g. because of bad input,
    while another one still waits for a connection. The process leaves the group when it ends.

    Without torchrun's variables, the process is alone and has rank 0. If only some of `RANK`,
    `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT` are set, the error names those that are missing.
    (With `WORLD_SIZE=1` the others may be missing, and the process is alone.) If the process has
    already joined, `join` only returns its rank. A rank that starts after the run has begun, e.g.
    because it was restarted after a failure, is in no group yet. When it creates its
    `DecentralizedOptimizer`, it waits until the other ranks call `admit`. But if all ranks are
    started again, with the same store, they begin a new run.

    Args:
        timeout: seconds to wait for the other ranks.
        backend: "gloo" or "nccl"; by default gloo for tensors on the CPU and NCCL for those on
            GPUs.
    """
    require_timeout(timeout)
    atexit.unregister(leave)
    atexit.register(leave)
    if not dist.is_initialized() and is_launched() and _late is None:
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
        _connect(timeout, backend)
    if is_late():
        return int(os.environ["RANK"])
    return dist.get_rank() if dist.is_initialized() else 0


def _connect(timeout: float, backend: str | None) -> None:
    rank, size = place_in_world()
    global _store, _late
    every_run, limit = _store_for(rank, size, timeout), timedelta(seconds=timeout)
    store, late = present_run(every_run, rank, size)
    if late and await_all_late(store, size, min(timeout, NEWCOMER_SECONDS)):
        store, late = present_run(every_run, rank, size)
    _store, _late = store, partial(_connect, timeout, backend) if late else None
    if late:
        return
    if rank < size:
        store.set(_word_of(rank), "known" if secret() else "unset")
    await_ranks(store, rank, size, timeout)
    _require_all_or_no_secrets(store, size)
    try:
        backend = backend or _backend()
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=limit)
        require_secret(dist.group.WORLD, timeout, [])
        _await_connections(dist.group.WORLD)
        begin(store)
    except RuntimeError as reason:
        leave()
        problem = f"rank {rank}: the other ranks have come, but cannot be reached"
        way_out = "see which interface GLOO_SOCKET_IFNAME names, and that nothing blocks its ports"
        raise ConnectionError(f"{problem} ({first_line(reason)}); {way_out}") from reason
    except OSError:  # somebody does not know the secret
        leave()
        raise


def _store_for(rank: int, size: int, timeout: float) -> Store:
    """The store; a rank beyond the world does not wait for it, since its run must have begun."""
    if rank < size:
        return open_store(rank, timeout)
    try:
        return open_store(rank, timeout, min(timeout, NEWCOMER_SECONDS))
    except ConnectionError:
        require_in_world(rank, size)
        raise


def _require_all_or_no_secrets(store: Store, size: int) -> None:
    """Refuse ranks that say that they have no secret where others have one.

    A rank that lies about having one fails the proof later; one without asks for no proof.
    """
    keys = [_word_of(rank) for rank in range(size)]
    said = [store.get(key) if store.check([key]) else b"" for key in keys]
    if b"known" in said and b"unset" in said:
        unset = [rank for rank, word in enumerate(said) if word == b"unset"]
        refuse_strangers(unset, said.index(b"known"))


def _word_of(rank: int) -> str:
    return f"secret_of_{rank}"


def _await_connections(group: dist.ProcessGroup | None) -> None:
    """Return when all ranks have connected; torch returns when this one has."""
    if group is not None and not connects_on_use():
        total(torch.zeros(1, device=device_of(group)), group)


def _backend() -> str:
    """gloo, and NCCL for tensors on GPUs.

    Where there is a GPU, torch by itself would take NCCL for all, which refuses two ranks on one.
    """
    nccl = torch.cuda.is_available() and dist.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if nccl else "gloo"


def leave() -> None:
    """Destroy all process groups, if there are any; `join` sees to it that no process forgets.

    gloo's threads release the tensors of a collective some time after it has returned, and need
    the interpreter for that. One that comes when the interpreter is already ending is unwound by
    Python < 3.14 through C++ that cannot be unwound, and the process dies of SIGABRT. Destroying a
    group waits for its threads, if nobody else refers to the group.
    """
    global _store, _late
    _store, _late = None, None
    if dist.is_initialized():
        dist.destroy_process_group()
