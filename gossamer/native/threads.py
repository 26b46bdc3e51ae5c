"""Parts of a program in C side by side, as many as torch has threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # on Unix: a child has none of the threads
    os.register_at_fork(after_in_child=_pools.clear)


def in_threads(take: Callable[[int, int], None], count: int) -> None:
    """`take(first, last)` for parts of 0, …, `count` − 1, as many parts as torch has threads."""
    threads = min(torch.get_num_threads(), count)
    if threads <= 1:
        take(0, count)
        return
    edges = [count * k // threads for k in range(threads + 1)]
    list(_pool(threads).map(take, edges[:-1], edges[1:]))


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "gossamer-native")
    return _pools[threads]
