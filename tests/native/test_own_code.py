"""Methods, problems and noises as people write them: in C or not, the numbers are theirs."""

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from native.both import STEPS, quadratic, simulate_both
from torch import Tensor

import gossamer as gs
from gossamer.algorithms import Mix, Positive, Stateless
from gossamer.native import build, source
from gossamer.native.loop import NativeLoop, native_loop
from gossamer.native.trace import OneRun
from gossamer.simulation import simulation as simulations
from gossamer.simulation.step import numeric

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="this machine has no C compiler")


@dataclass(frozen=True)
class Descent(gs.Algorithm[Stateless]):
    """x ← W x − α d, where a subclass says what d is."""

    lr: Positive = 0.05

    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix) -> Any:
        return mix.pull(x) - self.lr * self.direction(t, x, grad), state

    def direction(self, t: int, x: Tensor, grad: Tensor) -> Tensor:
        return grad


def descent(direction: Callable[[Any, Tensor, Tensor], Tensor]) -> gs.Algorithm[Any]:
    """A method with this direction, a function of t, x and the gradient."""
    made = type("Own", (Descent,), {"direction": lambda self, *given: direction(*given)})
    return dataclass(frozen=True)(made)()


CALLS = [0]


def counted(t: Any, x: Tensor, grad: Tensor) -> Tensor:
    CALLS[0] += 1
    return grad * (1 + 1e-12 * CALLS[0])


def behind(grad: Tensor) -> Tensor:
    """As compiled kernels do it: no operation of torch tells of it."""
    made = torch.zeros(grad.shape, dtype=grad.dtype)
    ctypes.memmove(made.data_ptr(), grad.contiguous().data_ptr(), grad.nbytes)
    return made


NOT_IN_C = {
    "a branch on numbers": lambda t, x, grad: grad if float(grad.abs().max()) > 1 else 0.5 * grad,
    "a branch on t": lambda t, x, grad: grad if t < 10 else 0.5 * grad,
    "an index by t": lambda t, x, grad: grad * [1.0, 0.5][min(int(t), 1)],
    "a set that t is in": lambda t, x, grad: grad if t + 1 in {20, 30} else 0.5 * grad,
    "a dictionary of t": lambda t, x, grad: grad * {20: 0.5}.get(t, 1.0),
    "t in words": lambda t, x, grad: grad if str(t) == f"{20}" else 0.5 * grad,
    "whether t is an int": lambda t, x, grad: grad if isinstance(t, int) else 0.5 * grad,
    "what torch is not told": lambda t, x, grad: behind(grad),
    "what another run does": lambda t, x, grad: grad / (1 + x[0, 0, 0].abs()),
}


@pytest.mark.parametrize("what", NOT_IN_C)
def test_what_cannot_be_recorded_is_taken_as_it_is_written(monkeypatch, what: str):
    as_written, again, taken = simulate_both(monkeypatch, descent(NOT_IN_C[what]), quadratic())
    assert not taken
    assert torch.equal(again.x, as_written.x)


IMPURE = {
    "Python's chance": lambda t, x, grad: grad * (1 + 1e-12 * random.random()),
    "torch's chance": lambda t, x, grad: grad + 1e-12 * torch.rand(grad.shape[-1]),
    "a count": counted,
}


@pytest.mark.parametrize("what", IMPURE)
def test_chance_and_memory_of_a_step_are_never_frozen(monkeypatch, what: str):
    """So small that no comparison of numbers would find them."""
    assert not simulate_both(monkeypatch, descent(IMPURE[what]), quadratic())[2]


IN_C = {
    "powers of t": lambda t, x, grad: grad * (t + 1) ** -0.5,
    "a threshold": lambda t, x, grad: torch.where(grad.abs() > 0.7, grad.sign() * 0.7, grad),
    "a constant mask": lambda t, x, grad: torch.where(torch.arange(6) > 2, grad, 0.5 * grad),
}


@pytest.mark.parametrize("what", IN_C)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_can_be_recorded(monkeypatch, what: str, dtype: torch.dtype):
    given = (monkeypatch, descent(IN_C[what]), quadratic())
    as_written, in_c, taken = simulate_both(*given, dtype=dtype)
    assert taken
    close = {"rtol": 0, "atol": 1e-5 if dtype == torch.float32 else 1e-12}
    torch.testing.assert_close(in_c.x, as_written.x, **close)


FLAGS = build.FLAGS  # before they are replaced


@pytest.mark.parametrize("numbers", [2, 3, 7, 8])
def test_what_is_rounded_is_rounded_by_every_compiler(monkeypatch, numbers: int):
    """gcc 12 left out the way to float32 and back of two numbers, at times: sums drifted."""
    monkeypatch.setattr(build, "FLAGS", FLAGS)
    rounds = descent(lambda t, x, grad: grad.float().double())
    task = {"network": gs.complete(1), "seeds": [3]}
    as_written, in_c, taken = simulate_both(monkeypatch, rounds, quadratic(1, numbers), **task)
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=0, atol=1e-12)


class Sum(NamedTuple):
    total: Tensor


@dataclass(frozen=True)
class GrowingState(gs.Algorithm[Sum]):
    """Begins with one number per node, and keeps one per coordinate: more than was told."""

    lr: Positive = 0.05

    def init(self, x: Tensor) -> Sum:
        return Sum(torch.zeros_like(x[..., :1]))

    def step(self, t: int, x: Tensor, grad: Tensor, state: Sum, mix: Mix) -> Any:
        total = state.total + grad
        return mix.pull(x) - self.lr * total / (t + 1), Sum(total)


def test_a_state_that_grows_does_not_write_where_it_has_no_room(monkeypatch):
    as_written, again, taken = simulate_both(monkeypatch, GrowingState(), quadratic(5, 200))
    assert not taken
    assert torch.equal(again.x, as_written.x)


@dataclass(frozen=True)
class NoNumbers(gs.Algorithm[Stateless]):
    def init(self, x: Tensor) -> Stateless:
        return Stateless()

    def step(self, t: int, x: Tensor, grad: Tensor, state: Stateless, mix: Mix) -> Any:
        return mix.pull(x) - 0.05 * grad, state


def test_a_method_without_hyperparameters(monkeypatch):
    as_written, in_c, taken = simulate_both(monkeypatch, NoNumbers(), quadratic())
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------- problems


class OwnSamples(gs.LeastSquares):
    """Draws in its own way, of which the class above knows nothing."""

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        return self.local_grad(x) * (1 + t % 2)


def data(dim: int = 4) -> list[tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(0)
    parts = [torch.randn(8, dim + 1, generator=draw).double() for _ in range(3)]
    return [(part[:, :-1], part[:, -1]) for part in parts]


def test_a_subclass_that_draws_for_itself_is_not_exact(monkeypatch):
    problem = OwnSamples(data())
    assert gs.LeastSquares(data()).exact
    assert not problem.exact
    as_written, again, taken = simulate_both(monkeypatch, gs.DSGD(lr=0.05), problem)
    assert not taken
    assert torch.equal(again.x, as_written.x)


class Claims(OwnSamples):
    exact = True


def test_a_problem_that_is_not_as_exact_as_it_says_is_found_out(monkeypatch):
    assert not simulate_both(monkeypatch, gs.DSGD(lr=0.05), Claims(data()))[2]


class ByAutograd(gs.Quadratic):
    """A gradient by `torch.autograd`, which keeps tensors of its own."""

    def local_grad(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            loss = (point.sigmoid() + (0.1 * point).exp() + 0.5 * point * point).sum()
            return torch.autograd.grad(loss, point)[0]


def losses(x: Tensor, center: Tensor) -> Tensor:
    far = x - center
    return (far.tanh() ** 2 + torch.log1p(far**2) + torch.relu(far)).sum() + (x[1:] * x[:-1]).sum()


def log_sum(x: Tensor, center: Tensor) -> Tensor:
    return (x - center).exp().sum().log() + (x * x).sum()


OWN_PROBLEMS = {
    "by automatic differentiation": ByAutograd(3, 4),
    "a function": gs.FunctionProblem(losses, torch.linspace(-1, 1, 12).view(3, 4), dim=4),
    "a function of one node": gs.FunctionProblem(log_sum, torch.ones(1, 4), dim=4),
    "one node": quadratic(1, 4),
    "one coordinate": quadratic(3, 1),
    "one of both": quadratic(1, 1),
}


@pytest.mark.parametrize("what", OWN_PROBLEMS)
def test_own_problems(monkeypatch, what: str):
    problem = OWN_PROBLEMS[what]
    network = gs.complete(problem.num_nodes)
    given = {"network": network, "noise": gs.StudentT(1.5, scale=0.1)}
    as_written, in_c, taken = simulate_both(monkeypatch, gs.GTDSGD(lr=0.05), problem, **given)
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=0, atol=1e-11)


class WrongShape(gs.Quadratic):
    def local_grad(self, x: Tensor) -> Tensor:
        return super().local_grad(x)[..., :1]


def test_a_gradient_of_the_wrong_shape_is_refused_as_ever(always):
    with pytest.raises(gs.InvalidInput, match="one gradient per point"):
        gs.simulate(gs.DSGD(lr=0.1), WrongShape(3, 4), gs.ring(3), steps=3, record_every=3)


@dataclass(frozen=True, repr=False)
class Rounded(gs.StudentT):
    """Noise that is added in its own way, half of it at random."""

    def apply(self, grad: Tensor, sample: Tensor) -> Tensor:
        return grad + sample * (torch.rand(sample.shape[-1]) > 0.5)


def test_a_noise_that_draws_while_it_is_added(monkeypatch):
    given = (monkeypatch, gs.DSGD(lr=0.05), quadratic())
    assert not simulate_both(*given, noise=Rounded(1.5, scale=0.1))[2]


# ---------------------------------------------------------------------- how many, how often


@pytest.mark.parametrize("runs", [1, 2, 7, 8, 9, 17])
def test_any_number_of_runs(monkeypatch, runs: int):
    given = {"seeds": [k % 5 for k in range(runs)], "noise": gs.StudentT(1.5, scale=0.1)}
    method = gs.GTNSGDm(lr=torch.linspace(0.01, 0.1, runs).view(-1, 1), momentum=0.5)
    as_written, in_c, taken = simulate_both(monkeypatch, method, quadratic(), **given)
    assert taken
    torch.testing.assert_close(in_c.x, as_written.x, rtol=0, atol=1e-11)


@pytest.mark.parametrize("every", [1, 2, 5, 1000])
def test_records_at_any_step(monkeypatch, every: int):
    given = (monkeypatch, gs.GTDSGD(lr=0.05), quadratic())
    as_written, in_c, taken = simulate_both(*given, record_every=every)
    assert taken == (every > 1)
    for name, values in as_written.metrics.items():
        torch.testing.assert_close(in_c.metrics[name], values, rtol=1e-11, atol=1e-11)


def test_settings_that_end_early(monkeypatch):
    grid = {"lr": torch.logspace(-3, 1, 12).tolist(), "momentum": [0.5]}
    task = {"noise": gs.StudentT(1.5, scale=0.1), "steps": 160, "record_every": 2}
    found = []
    for seconds in (float("inf"), 0.0):
        monkeypatch.setattr(simulations, "COMPILE_SECONDS", seconds)
        found.append(
            gs.sweep(
                gs.GTNSGDm, grid, quadratic(), gs.ring(5), seeds=[0, 1], strategy="halving", **task
            )
        )
    as_written, in_c = found
    assert (as_written.config["in_c"], in_c.config["in_c"]) == (False, True)
    assert torch.equal(in_c.steps_taken, as_written.steps_taken)
    errors = [one.metrics["error"] for one in found]
    torch.testing.assert_close(*errors, rtol=1e-9, atol=0)


@torch.no_grad()
def test_threads_change_no_bit():
    problem, method, runs = quadratic(), gs.GTDSGD(lr=0.05), 33
    mixer = gs.ring(5).mixer(torch.float64, "cpu")
    loop = native_loop(method, numeric(gs.GTDSGD), problem, None, mixer, runs)
    assert loop is not None
    x = torch.randn(5, runs, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    given = 0, [method] * STEPS, x, method.init(x), None, None
    alone, *shared = (loop.advance(*given, threads)[0] for threads in (1, 2, 3))
    for found in shared:
        assert torch.equal(found, alone)


@torch.no_grad()
def test_memory_that_ends_is_an_error(monkeypatch):
    """The process used to end by a signal."""
    none = source.HEAD.replace("return aligned_alloc(", "return 0; (void)(")
    assert none != source.HEAD
    monkeypatch.setattr(source, "HEAD", none)
    mixer, method = gs.ring(5).mixer(torch.float64, "cpu"), gs.GTDSGD(lr=0.05)
    loop = NativeLoop.of(OneRun.of(method, numeric(gs.GTDSGD), quadratic(), None, mixer), 1)
    x = torch.zeros(5, 1, 6, dtype=torch.float64)
    with pytest.raises(MemoryError):
        loop.advance(0, [method], x, method.init(x), None, None)


def test_where_runs_must_be_alike_they_are_taken_as_written(always, tmp_path):
    given = (gs.DSGD(lr=0.1), quadratic(3), gs.ring(3))
    assert gs.simulate(*given, steps=3, record_every=3).config["in_c"]
    assert not gs.simulate(*given, steps=3, record_every=3, store=tmp_path).config["in_c"]


def test_a_result_tells(always, monkeypatch):
    given = (gs.DSGD(lr=0.1), quadratic(3), gs.ring(3))
    assert "float64 on cpu in C" in repr(gs.simulate(*given, steps=3, record_every=3))
    monkeypatch.setenv("GOSSAMER_NATIVE", "0")
    assert "in C" not in repr(gs.simulate(*given, steps=3, record_every=3))
