"""Real processes for tests: forked from a clean server, killed at a deadline."""

import gc
import multiprocessing
import os
import pickle
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
import torch.distributed as dist

from gossamer.distributed.rendezvous import host_store

PRELOAD = ["torch._dynamo", "networkx", "gossamer", "gossamer.distributed", "pytest"]
PRELOAD += ["sklearn.datasets"]  # of a few tests, in 2 s; where it is not installed, it is left out
"""What the ranks of tests would import, each of them again."""

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(PRELOAD)


def hear_ctrl_c() -> None:
    """Raise KeyboardInterrupt at SIGINT, whoever began this process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's `&` makes us ignore
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # if `Workers` forked our server


class Dead:
    """What a process leaves that ended without a result."""


class Processes:
    """`function(rank, *args)` on `size` ranks of one gloo group, each in its own process."""

    def __init__(
        self, function: Callable[..., Any], *args: Any, size: int = 4, timeout: float = 30
    ):
        self.folder = tempfile.TemporaryDirectory(prefix="gossamer-ranks-")
        self.pipes: list[Connection] = []
        self.ranks = []
        for rank in range(size):
            mine, theirs = context.Pipe(duplex=False)
            init = (f"file://{self.folder.name}/store", size, timeout)
            arguments = (theirs, rank, init, function, args)
            self.ranks.append(context.Process(target=_run, args=arguments, daemon=True))
            self.ranks[-1].start()
            theirs.close()
            self.pipes.append(mine)

    def results(self, deadline: float = 60.0, *without: int) -> list[Any]:
        """What each rank returned or raised, `Dead` if killed; all are killed at the deadline.

        Ranks `without` are not waited for.
        """
        end = time.monotonic() + deadline
        answers: list[Any] = [None] * len(self.ranks)
        open_pipes = {pipe: rank for rank, pipe in enumerate(self.pipes) if rank not in without}
        try:
            while open_pipes:
                ready = wait(list(open_pipes), timeout=max(0.0, end - time.monotonic()))
                assert ready, f"ranks {sorted(open_pipes.values())} gave no answer in {deadline} s"
                for pipe in ready:
                    rank = open_pipes.pop(pipe)
                    answers[rank] = self.answer(rank)
        finally:
            self.kill_all()
        return answers

    def answer(self, rank: int) -> Any:
        """What one rank returned or raised, `Dead` if killed; waits for it."""
        try:
            return pickle.loads(self.pipes[rank].recv_bytes())
        except EOFError:
            return Dead()

    def kill(self, rank: int) -> None:
        """SIGKILL one rank."""
        self.ranks[rank].kill()

    def signal(self, rank: int, number: int) -> None:
        """Send any signal to one rank."""
        os.kill(self.ranks[rank].pid, number)

    def kill_all(self) -> None:
        """SIGKILL whoever still runs."""
        for process in self.ranks:
            process.kill()
        for process in self.ranks:
            process.join()
        self.folder.cleanup()


class Launched(Processes):
    """`function(rank, *args)` on ranks that find each other as torchrun's do.

    `store` is the process that has their store.
    """

    def __init__(self, function: Callable[..., Any], *args: Any, size: int = 4):
        self.folder = tempfile.TemporaryDirectory(prefix="gossamer-ranks-")
        self.pipes, self.ranks, self._function, self._args = [], [], function, args
        mine, theirs = context.Pipe(duplex=False)
        self.store = context.Process(target=_host, args=(theirs,), daemon=True)
        self.store.start()
        names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE")
        values = ("127.0.0.1", str(mine.recv()), str(size), "True")
        self._environment = dict(zip(names, values, strict=True))
        for rank in range(size):
            self.start(rank)

    def start(self, rank: int) -> int:
        """Start a rank, also one that was there before; returns the place of its answer."""
        mine, theirs = context.Pipe(duplex=False)
        environment = {**self._environment, "RANK": str(rank)}
        arguments = (theirs, rank, environment, self._function, self._args)
        self.ranks.append(context.Process(target=_run_launched, args=arguments, daemon=True))
        self.ranks[-1].start()
        theirs.close()
        self.pipes.append(mine)
        return len(self.pipes) - 1

    def kill_all(self) -> None:
        """SIGKILL whoever still runs, and the store."""
        self.store.kill()
        self.store.join()
        super().kill_all()


def _host(pipe: Connection) -> None:
    store = host_store("127.0.0.1")
    pipe.send(store.port)
    time.sleep(1e6)


def _run_launched(
    pipe: Connection, rank: int, environment: Any, function: Callable[..., Any], args: Any
) -> None:
    _begin()
    os.environ.update(environment)
    try:
        answer = function(rank, *args)
    except BaseException as error:
        answer = Failed(error)
    pipe.send_bytes(pickle.dumps(answer))
    pipe.close()
    os._exit(0)


def _begin() -> None:
    """One thread; and what the server has imported is no garbage, so it is not looked through."""
    torch.set_num_threads(1)
    gc.freeze()


def on_ranks(
    function: Callable[..., Any], *args: Any, size: int = 4, deadline: float = 60.0
) -> Any:
    """The results of all ranks; the first exception of a rank is raised here."""
    answers = Processes(function, *args, size=size).results(deadline)
    for rank, answer in enumerate(answers):
        if isinstance(answer, Failed):
            raise AssertionError(f"rank {rank} raised\n{answer.text}") from answer.error
        assert not isinstance(answer, Dead), f"rank {rank} died"
    return answers


class Failed:
    """An exception of a rank."""

    def __init__(self, error: BaseException):
        self.error, self.text = error, "".join(traceback.format_exception(error))
        self.at = time.time()


def _run(pipe: Connection, rank: int, init: Any, function: Callable[..., Any], args: Any) -> None:
    _begin()
    address, size, timeout = init
    try:
        limit = timedelta(seconds=timeout)
        dist.init_process_group("gloo", address, world_size=size, rank=rank, timeout=limit)
        dist.barrier()  # no rank may answer and go while another still connects
        answer = function(rank, *args)
    except BaseException as error:
        answer = Failed(error)
    pipe.send_bytes(pickle.dumps(answer))  # plain pickle: the tensors outlive this process
    pipe.close()
    os._exit(0)
