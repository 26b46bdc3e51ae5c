"""Compiled steps: the same run, and a step that cannot be compiled is run as it is written."""

import random
import warnings
from dataclasses import dataclass

import pytest
import torch
from algorithms.table import TABLE, Row
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Algorithm, Mix, Positive, Stateless
from gossamer.simulation import step as step_module

PROBLEM, NETWORK = gs.Quadratic(4, 3), gs.ring(4)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch):
    """Steps are handed to torch.compile on the CPU, which traces them and generates no code."""
    monkeypatch.setitem(step_module.BACKENDS, "cpu", "eager")
    monkeypatch.setattr(step_module, "installed", lambda: True)
    yield
    torch._dynamo.reset()


def simulated(method: Algorithm, network: gs.Network = NETWORK) -> gs.Run:
    return gs.simulate(
        method, PROBLEM, network, noise=gs.Gaussian(0.1), steps=6, seeds=[0, 1], metrics=["error"]
    )


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_compiled_steps_are_the_steps(compiled, row: Row):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulated(row.algorithm)
    step_module.BACKENDS.pop("cpu")
    expected = simulated(row.algorithm)
    torch.testing.assert_close(run.x, expected.x, rtol=1e-12, atol=1e-12)


def test_a_step_is_compiled_around_links_that_remember(compiled):
    network = NETWORK.drops(0.3).compressed(gs.QSGD(4)).every(2)
    method = gs.GTNSGDm(lr=0.1, momentum=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulated(method, network)
    step_module.BACKENDS.pop("cpu")
    expected = simulated(method, network)
    torch.testing.assert_close(run.x, expected.x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", [gs.DeMuon(0.1, 0.8), gs.PushSum(gs.GTLayerNSGDm(0.1, 0.8))])
def test_a_step_that_asks_for_shapes_only_is_compiled(compiled, method: Algorithm):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).double()
    data = [(torch.randn(6, 3).double(), torch.randn(6, 2).double()) for _ in range(4)]
    problem = gs.ModuleProblem(model, torch.nn.functional.mse_loss, data, batch_size=2)
    traced = step_module.step_on(type(method), torch.float64, "cpu")
    assert isinstance(traced, step_module.CompiledStep)
    shared = {"steps": 6, "seeds": [0, 1], "metrics": ["loss"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = gs.simulate(method, problem, NETWORK, **shared)
    step_module.BACKENDS.pop("cpu")
    expected = gs.simulate(method, problem, NETWORK, **shared)
    torch.testing.assert_close(run.x, expected.x, rtol=1e-12, atol=1e-12)


class Own(Algorithm[Stateless]):
    def init(self, x: Tensor) -> Stateless:
        return Stateless()


@dataclass(frozen=True)
class Scheduled(Own):
    """Looks its step size up."""

    lr: Positive = 0.1

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        lr = [self.lr, self.lr / 2, self.lr / 4][min(t, 2)]
        return mix.pull(x - lr * grad), state


@dataclass(frozen=True)
class Masked(Own):
    """Draws a mask from the stream of the step."""

    lr: Positive = 0.1

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        generator = torch.Generator().manual_seed(t)
        mask = torch.rand(x.shape[-1:], generator=generator, dtype=x.dtype) < 0.5
        return mix.pull(x - self.lr * mask * grad), state


@dataclass(frozen=True)
class Local(Own):
    """Several local steps, as many as a hyper-parameter says."""

    lr: Positive = 0.1
    steps: Positive = 2

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        for _ in range(self.steps):
            x = x - self.lr * grad
        return mix.pull(x), state


@dataclass(frozen=True)
class Drawn(Own):
    """A random step size."""

    lr: Positive = 0.1

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        return mix.pull(x - self.lr * random.Random(t).random() * grad), state


@dataclass(frozen=True)
class Milestones(Own):
    """Looks t up, which no compiler notices."""

    lr: Positive = 0.1

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix):
        lr = self.lr / 2 if t in {2, 3} else self.lr
        return mix.pull(x - lr * grad), state


NEED_NUMBERS = [Scheduled(), Masked(), Local(), Drawn(), Milestones()]


@pytest.mark.parametrize("method", NEED_NUMBERS, ids=str)
def test_a_step_that_needs_numbers_is_run_as_written_and_named(compiled, method: Algorithm):
    name = type(method).__name__
    with pytest.warns(UserWarning, match=rf"{name}\.step cannot be compiled and is run as it"):
        run = simulated(method)
    step_module.BACKENDS.pop("cpu")
    assert torch.equal(run.x, simulated(method).x)


def test_runs_with_own_numbers_look_t_up_too(compiled):
    grid, task = {"lr": [0.1, 0.2]}, {"steps": 6, "metrics": ["error"]}
    with pytest.warns(UserWarning, match="it looks t up in a set or a dictionary"):
        found = gs.sweep(Milestones, grid, PROBLEM, NETWORK, **task)
    step_module.BACKENDS.pop("cpu")
    assert torch.equal(found.x, gs.sweep(Milestones, grid, PROBLEM, NETWORK, **task).x)


def test_what_fails_as_written_too_is_the_methods_own_error(compiled, monkeypatch):
    def broken(self, t, x, grad, state, mix):
        raise KeyError("my mistake")

    monkeypatch.setattr(Scheduled, "step", broken)
    with pytest.raises(KeyError, match="my mistake"):
        simulated(Scheduled())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", [Scheduled(), Local(), Drawn()], ids=str)
def test_on_a_gpu_too(method: Algorithm):
    arguments = {"noise": None, "steps": 6, "metrics": ["error"]}
    with pytest.warns(UserWarning, match="cannot be compiled"):
        run = gs.simulate(method, PROBLEM, NETWORK, device="cuda", **arguments)
    expected = gs.simulate(method, PROBLEM, NETWORK, **arguments)
    torch.testing.assert_close(run.x, expected.x, rtol=1e-9, atol=1e-9)
