"""Work spread over workers by any executor of `concurrent.futures`, on one machine or many."""

import os
import signal
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import current_process, get_context, parent_process
from threading import Lock, Thread
from typing import Any, TypeVar

import torch

from gossamer.errors import InvalidInput, require, whole

Item = TypeVar("Item")
Result = TypeVar("Result")

MANY = 16
"""Workers of an executor that does not say how many it has."""

ATTEMPTS = 3
"""How many workers may die over the same piece of work."""


def spread(
    work: Callable[[Item], Result], todo: deque[Item], executor: Executor
) -> Iterator[tuple[Item, Result]]:
    """Yields every item of `todo` together with the result of `work`, in order of completion.

    Meanwhile the caller may append items to `todo`. If a worker dies, unfinished items are tried
    again, each at most three times in all. If the executor fails, this process does the rest of the
    work itself.
    """
    running: dict[Future[Result], Item] = {}
    deaths: Counter[int] = Counter()
    try:
        while todo or running:
            while todo:
                item = todo.popleft()
                running[future := _submit(executor, work, item)] = item
                if future.done():  # what is done here is taken before the next begins
                    break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                item = running.pop(future)
                died = isinstance(future.exception(), BrokenExecutor)
                deaths[id(item)] += died
                if died and deaths[id(item)] < ATTEMPTS:
                    todo.append(item)
                else:
                    del deaths[id(item)]
                    _require_sent(future)
                    yield item, future.result()
    finally:
        for future in running:
            future.cancel()


def as_executor(executor: object) -> Executor | None:
    """Returns its argument, an executor or None; anything else is refused.

    A process that imports the main program to become a worker would wait for its parent.
    """
    fits = executor is None or (hasattr(executor, "submit") and not isinstance(executor, type))
    need = "an executor of concurrent.futures, or None"
    require(fits, "executor", repr(executor), need, "e.g. gs.Workers(4)")
    begins = executor is not None and getattr(current_process(), "_inheriting", False)
    found, need = "a call that a worker makes while it starts", "one of the main program only"
    require(not begins, "executor", found, need, 'put it below `if __name__ == "__main__":`')
    return executor  # type: ignore[return-value]


def _submit(executor: Executor, work: Callable[[Item], Result], item: Item) -> Future[Result]:
    try:
        return executor.submit(work, item)
    except BrokenExecutor as reason:
        warnings.warn(f"executor: {reason}; this process goes on by itself", stacklevel=3)
        return ThisProcess().submit(work, item)


def _require_sent(future: Future[Any]) -> None:
    """Refuse what cannot be pickled, in words."""
    reason = future.exception()
    if reason is not None and "pickle" in f"{type(reason).__name__} {reason}".lower():
        raise InvalidInput(
            f"executor: the work cannot be sent to a worker ({reason}); define functions and "
            "classes at the top level of a module, and not as lambdas"
        ) from reason


def worker_count(executor: Executor) -> int:
    """The executor's number of workers, or 16 (a high guess) if it does not say."""
    return int(getattr(executor, "workers", MANY))


class ThisProcess(Executor):
    """An executor without workers, which does submitted work immediately, in this process."""

    workers = 1

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Calls the function and returns a future that is already done."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as reason:
            future.set_exception(reason)
        return future


class Lent(Executor):
    """Another executor, for the threads of one call: it does no more work once that has ended."""

    def __init__(self, executor: Executor) -> None:
        self.workers, self._executor, self._returned = worker_count(executor), executor, False

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Like `submit` of the other executor."""
        if self._returned:
            raise CancelledError
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the loan; the other executor stays."""
        self._returned = True


class Workers(Executor):
    """Worker processes on this machine, with one thread each; they are restarted if one dies.

    Args:
        jobs: number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self.workers = whole("jobs", jobs, 1)
        self._pool, self._renewing = self._start(), Lock()

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Like `submit` of every executor in `concurrent.futures`."""
        with self._renewing, _uninterrupted():
            try:
                return self._pool.submit(fn, *args, **kwargs)
            except BrokenExecutor:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._start()
                return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Like `shutdown` of every executor in `concurrent.futures`."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _start(self) -> ProcessPoolExecutor:
        context = get_context("spawn")  # threads of torch do not survive a fork
        return ProcessPoolExecutor(self.workers, context, _begin)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that are started here do not notice Ctrl-C before they can end in silence."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """What a worker does first: it ends silently on Ctrl-C, and when its parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
