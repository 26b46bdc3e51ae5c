"""How many threads a pass over memory takes."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, get_ident

import pytest
import torch

from gossamer.native import build, threads
from gossamer.native.finite import surely_finite
from gossamer.native.passes import LONG


@pytest.mark.parametrize(
    ("cores", "processes", "numbers", "expected"),
    [
        (16, 4, 10**6, 4),
        (8, 4, 10**6, 2),
        (2, 4, 10**6, 1),
        (64, 4, 10**6, threads.MOST),
        (16, 4, 2 * threads.SMALLEST, 2),
        (16, 4, 1, 1),
    ],
)
def test_cores_that_nobody_uses(monkeypatch, cores, processes, numbers, expected):
    monkeypatch.setattr(threads, "_spare", 1)
    monkeypatch.setattr(threads, "our_cores", lambda: set(range(cores)))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    threads.use_spare_cores(processes)
    assert threads.threads_for(numbers) == expected


@pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")
@pytest.mark.parametrize("spare", [1, 3])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_a_vector_in_pieces_is_finite(monkeypatch, spare: int, kind: torch.dtype):
    monkeypatch.setattr(threads, "_spare", spare)
    pieces = [torch.ones(LONG, dtype=kind), torch.ones(3, dtype=kind)]
    assert surely_finite(pieces)
    for piece, wrong in ((0, torch.inf), (1, torch.nan)):
        pieces[piece][2] = wrong
        assert not surely_finite(pieces)
        pieces[piece][2] = 1.0


@pytest.mark.parametrize("parts_each", [1, 4])
@pytest.mark.parametrize(("count", "workers"), [(1, 2), (3, 2), (8, 2), (1000, 3)])
def test_every_part_is_taken_once(count: int, workers: int, parts_each: int):
    taken = torch.zeros(count)
    edges = []

    def take(first: int, last: int) -> None:
        taken[first:last] += 1
        edges.append((first, last))

    threads.in_threads(take, count, workers, parts_each)
    assert bool((taken == 1).all())
    assert len(edges) == (1 if count == 1 else min(count, workers * parts_each))


def test_what_fails_in_a_part_is_raised_once_none_is_running():
    """Parts used to go on with memory that whoever caught the exception had freed."""
    both, ended = Barrier(2), []

    def take(first: int, last: int) -> None:
        both.wait(10)
        if first == 0:
            raise KeyError
        time.sleep(0.1)
        ended.append(first)

    with pytest.raises(KeyError):
        threads.in_threads(take, 2, 2)
    assert ended == [1]


def test_ctrl_c_waits_for_the_parts_that_are_running():
    both, ended, this = Barrier(2), [], get_ident()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def take(first: int, last: int) -> None:
        both.wait(10)
        if get_ident() == this:
            return  # and waits
        for _ in range(2):
            time.sleep(0.05)
            signal.pthread_kill(this, signal.SIGINT)
        time.sleep(0.05)
        ended.append(first)

    try:
        with pytest.raises(KeyboardInterrupt):
            threads.in_threads(take, 2, 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ended) == 1


def test_a_call_goes_on_where_others_keep_the_pool_busy():
    """Two threads that simulate share the pool."""
    begun, held, taken = Barrier(3), Event(), []

    def wait(first: int, last: int) -> None:
        begun.wait(10)
        held.wait(2)

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(threads.in_threads, wait, 2, 2)
        begun.wait(10)
        threads.in_threads(lambda first, last: taken.append(first), 2, 2)
        assert not waiting.done()
        held.set()
    assert sorted(taken) == [0, 1]
