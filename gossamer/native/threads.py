"""Parts of a program in C side by side, in threads of their own."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise

import torch
from torch import Tensor

SMALLEST = 1 << 15
"""Numbers that are worth a thread."""

MOST = 4
"""Threads that a process takes of its own accord."""

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # on Unix: a child has none of the threads
    os.register_at_fork(after_in_child=_pools.clear)

_spare = 1


def use_spare_cores(processes: int) -> None:
    """Let passes over long vectors use the cores that `processes` of this host leave to each.

    A launcher gives each process one thread, so that none waits for another's core; but passes over
    memory are short, and cores that nobody uses are lost.
    """
    global _spare
    _spare = min(len(our_cores()) // processes, MOST)


def threads_for(numbers: int) -> int:
    """How many threads are worth a pass over this many numbers."""
    return max(1, min(max(torch.get_num_threads(), _spare), numbers // SMALLEST))


def in_threads(
    take: Callable[[int, int], object], count: int, threads: int, parts_each: int = 1
) -> None:
    """`take(first, last)` for parts of 0, …, `count` − 1, on at most as many as `threads`.

    With several `parts_each`, a thread that another process slows down leaves parts to the others.
    This thread is one of them, so that it goes on where other calls keep those of the pool busy.
    However it ends, no part is running any more: parts write to memory that the caller may free.
    """
    threads = min(threads, count)
    if threads <= 1:
        take(0, count)
        return
    parts = min(threads * parts_each, count)
    edges = [count * k // parts for k in range(parts + 1)]
    todo = deque(pairwise(edges))
    others: list[Future[None]] = []
    try:
        for _ in range(threads - 1):
            others.append(_pool(threads - 1).submit(_take_all, take, todo))
        _take_all(take, todo)
    finally:
        todo.clear()
        _end(others)
    for other in others:
        if not other.cancelled():
            other.result()


def _take_all(take: Callable[[int, int], object], todo: deque[tuple[int, int]]) -> None:
    """One part after the other, until none is left to take."""
    while todo:
        try:
            part = todo.popleft()
        except IndexError:  # another thread was faster
            return
        take(*part)


def _end(others: Sequence[Future[None]]) -> None:
    """Wait for those that have begun, however often Ctrl-C is pressed meanwhile."""
    try:
        wait([other for other in others if not other.cancel()])
    except KeyboardInterrupt:
        _end(others)
        raise


def copy(source: Tensor, target: Tensor) -> None:
    """Write one vector into another."""
    on_cpu = source.device.type == target.device.type == "cpu"
    threads = threads_for(len(source)) if on_cpu else 1
    in_threads(lambda a, b: target[a:b].copy_(source[a:b]), len(source), threads)


def _pool(workers: int) -> ThreadPoolExecutor:
    if workers not in _pools:
        _pools[workers] = ThreadPoolExecutor(workers, "gossamer-native")
    return _pools[workers]


def our_cores() -> set[int]:
    """Those this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
