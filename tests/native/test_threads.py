"""How many threads a pass over memory takes."""

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
