"""Small stacks use one core, large ones all; the setting is given back whatever happens."""

import pytest
import torch

import gossamer as gs
from gossamer.simulation.threads import SMALL, threads_for


@pytest.fixture(autouse=True)
def _two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (SMALL, 1), (SMALL + 1, 2)])
def test_cores_by_size(size: int, threads: int):
    with threads_for(size):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


def test_an_exception_gives_the_cores_back():
    with pytest.raises(KeyError), threads_for(1):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("runs", "threads"), [(2, {1}), (600, {2})])
def test_the_simulator_asks_for_them(monkeypatch: pytest.MonkeyPatch, runs: int, threads: set[int]):
    seen = set()
    problem = gs.Quadratic(8, 4)
    exact = gs.Quadratic.local_grad

    def spied(self, x):
        seen.add(torch.get_num_threads())
        return exact(self, x)

    monkeypatch.setattr(gs.Quadratic, "local_grad", spied)
    gs.simulate(gs.DSGD(0.1), problem, gs.ring(8), steps=3, seeds=[0] * runs, metrics=["error"])
    assert seen == threads
    assert torch.get_num_threads() == 2
