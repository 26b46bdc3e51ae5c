"""Small stacks use one thread, large ones more; the same bits; all is given back."""

import pytest
import torch
from algorithms.table import TABLE, Row

import gossamer as gs
from gossamer.native import NativeLoop
from gossamer.native.build import compiler
from gossamer.simulation import simulation as simulations
from gossamer.simulation import threads as threads_module
from gossamer.simulation.threads import SMALL, threads_for


@pytest.fixture(autouse=True)
def _two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


class Free:
    def __init__(self, cores: int) -> None:
        self._cores = cores

    def free_cores(self) -> int:
        return self._cores


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch):
    """Say how many cores others leave free."""
    return lambda cores: monkeypatch.setattr(threads_module, "LOAD", Free(cores))


@pytest.mark.parametrize(
    ("size", "cores", "threads"),
    [(1, 2, 1), (SMALL, 2, 1), (SMALL + 1, 2, 2), (SMALL + 1, 1, 1), (SMALL + 1, 16, 2)],
)
def test_threads_by_size_and_free_cores(free, size: int, cores: int, threads: int):
    """Beside busy processes a large stack used to take all cores, and waited."""
    free(cores)
    with threads_for(torch.empty(size)):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("size", "threads"), [(SMALL, 1), (SMALL + 1, 2)])
def test_steps_in_c_share_busy_cores(free, size: int, threads: int):
    """A sweep used to have one thread, and a third of two cores, beside two busy processes."""
    free(1)
    with threads_for(torch.empty(size), native=True) as given:
        assert (given, torch.get_num_threads()) == (threads, 1)


def test_an_exception_gives_the_cores_back():
    with pytest.raises(KeyError), threads_for(torch.empty(1)):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("runs", "threads"), [(2, {1}), (1200, {2})])
def test_the_simulator_asks_for_them(
    free, monkeypatch: pytest.MonkeyPatch, runs: int, threads: set[int]
):
    free(2)
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


@pytest.mark.skipif(compiler() is None, reason="this machine has no C compiler")
def test_steps_in_c_have_them_for_themselves(free, monkeypatch: pytest.MonkeyPatch):
    """Torch's threads used to wait awake on the cores of those that took the steps in C."""
    free(2)
    seen, advance = set(), NativeLoop.advance

    def spied(loop, *given):
        seen.add((*given[6:], torch.get_num_threads()))
        return advance(loop, *given)

    def metric(stack):
        seen.add(("metric", torch.get_num_threads()))
        return stack.x.mean((0, 2))

    monkeypatch.setattr(NativeLoop, "advance", spied)
    monkeypatch.setattr(simulations, "COMPILE_SECONDS", 0.0)
    task = {"steps": 4, "seeds": [0] * 1200, "metrics": [metric], "record_every": 2}
    gs.simulate(gs.DSGD(0.1), gs.Quadratic(8, 4), gs.ring(8), **task)
    assert seen == {(2,), (2, 1), ("metric", 1)}  # before, a few runs were compared


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_the_same_bits_with_one_thread_and_with_two(free, row: Row):
    problem, network = gs.RobustRegression(20), gs.ring(20, hops=2)
    runs = []
    for cores in (1, 2):
        free(cores)
        stack = gs.Stack(row.algorithm, problem, network, gs.StudentT(1.5, 0.1), range(84))
        stack.advance(3)
        runs.append(stack.x)
    assert stack.x.numel() > SMALL
    assert torch.equal(*runs)


def test_threads_are_left_alone_on_another_device():
    with threads_for(torch.empty(1, device="meta")):
        assert torch.get_num_threads() == 2
