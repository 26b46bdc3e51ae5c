"""Parts of a program in C side by side, in threads of their own."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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
    """
    threads = min(threads, count)
    if threads <= 1:
        take(0, count)
        return
    parts = min(threads * parts_each, count)
    edges = [count * k // parts for k in range(parts + 1)]
    list(_pool(threads).map(take, edges[:-1], edges[1:]))


def copy(source: Tensor, target: Tensor) -> None:
    """Write one vector into another."""
    on_cpu = source.device.type == target.device.type == "cpu"
    threads = threads_for(len(source)) if on_cpu else 1
    in_threads(lambda a, b: target[a:b].copy_(source[a:b]), len(source), threads)


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "gossamer-native")
    return _pools[threads]


def our_cores() -> set[int]:
    """Those this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
