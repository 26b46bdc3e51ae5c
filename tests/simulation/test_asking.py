"""Steps that ask for more: the loop by hand, stacked = alone, compiled nowhere."""

import warnings

import pytest
import torch
from algorithms.asking import Dithered, Layerwise, Storm
from torch import Tensor, nn

import gossamer as gs
from gossamer.simulation import step as step_module

NODES, DIM, STEPS = 5, 3, 40
NETWORK, NOISE = gs.ring(NODES), gs.StudentT(1.5, 0.1)


def squares(x: Tensor, rows: Tensor) -> Tensor:
    return ((rows[:, 1:] @ x - rows[:, 0]).cosh().log()).mean()


def made(seed: int = 0) -> gs.FunctionProblem:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(NODES, 20, 1 + DIM, generator=generator, dtype=torch.float64)
    return gs.FunctionProblem(squares, rows, dim=DIM, batch_size=4)


PROBLEM = made()


def by_hand(problem: gs.Problem, seed: int, lr: float, a: float) -> Tensor:
    """STORM with tracking, node by node in the order of the paper."""
    stack = gs.Stack(gs.DSGD(0.1), problem, NETWORK, NOISE, [seed])  # for its noise alone
    x = before = problem.start.expand(NODES, 1, DIM)
    d = y = torch.zeros_like(x)
    for t in range(STEPS):
        noise = stack._noise.at(t)
        grad = problem.sample_grad(x, t, [seed]) + noise
        old = problem.sample_grad(before, t, [seed]) + noise
        new = grad if t == 0 else grad + (1 - a) * (d - old)
        y = torch.einsum("ij,jrd->ird", NETWORK.weights, y + new - d)
        d, before = new, x
        x = torch.einsum("ij,jrd->ird", NETWORK.weights, x - lr * y)
    return x[:, 0]


def test_a_second_gradient_is_that_of_the_same_sample_and_noise():
    run = gs.simulate(Storm(0.1, 0.2), PROBLEM, NETWORK, noise=NOISE, steps=STEPS, seeds=[3, 4])
    for place, seed in enumerate((3, 4)):
        expected = by_hand(PROBLEM, seed, 0.1, 0.2)
        torch.testing.assert_close(run.x[:, place], expected, rtol=1e-12, atol=1e-12)
    assert run.metrics["bytes"][-1, 0] == STEPS * 2 * 2 * DIM * 8


@pytest.mark.parametrize(
    "method", [Storm(0.1, 0.2), Dithered(0.01), gs.PushSum(Storm(0.1, 0.2))], ids=str
)
def test_runs_in_a_stack_are_the_runs_alone(method: gs.Algorithm):
    h = method.hyperparameters
    grid = {**{k: [v] for k, v in h.items()}, "lr": [h["lr"], 1e200, h["lr"] / 3]}
    shared = {"noise": NOISE, "steps": STEPS, "metrics": ["loss"]}
    swept = gs.sweep(type(method), grid, PROBLEM, NETWORK, seeds=[7, 0], **shared)
    for place, factor in ((0, 1), (2, 1 / 3)):
        one = type(method)(**{**h, "lr": h["lr"] * factor})
        alone = gs.simulate(one, PROBLEM, NETWORK, seeds=0, **shared)
        found = swept.runs(place).x[:, 1]
        torch.testing.assert_close(found, alone.x[:, 0], rtol=1e-12, atol=1e-12)


def test_pushsum_on_a_balanced_network_is_the_method():
    shared = {"noise": NOISE, "steps": STEPS, "seeds": [1]}
    plain = gs.simulate(Storm(0.1, 0.2), PROBLEM, NETWORK, **shared)
    pushed = gs.simulate(gs.PushSum(Storm(0.1, 0.2)), PROBLEM, NETWORK, **shared)
    torch.testing.assert_close(pushed.x, plain.x, rtol=1e-12, atol=1e-12)


def test_random_numbers_differ_between_seeds_and_come_again():
    first, again = (
        gs.simulate(Dithered(0.01), PROBLEM, NETWORK, steps=5, seeds=[0, 1]).x for _ in range(2)
    )
    assert torch.equal(first, again)
    assert not torch.isclose(first[:, 0], first[:, 1]).any()


def test_steps_that_ask_are_run_as_written_without_a_word(monkeypatch):
    monkeypatch.setitem(step_module.BACKENDS, "cpu", "eager")
    monkeypatch.setattr(step_module, "installed", lambda: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.simulate(Dithered(0.01), PROBLEM, NETWORK, steps=3)
    others, asks = (step_module.step_on(m, torch.float64, "cpu") for m in (gs.DSGD, Dithered))
    assert isinstance(others, step_module.CompiledStep)
    assert asks is Dithered.step


def test_a_problem_that_is_one_vector_has_one_tensor():
    assert gs.Quadratic(4, 3).parameter_shapes == (torch.Size([3]),)
    run = gs.simulate(Layerwise(0.1), gs.Quadratic(NODES, 3), NETWORK, steps=10)
    twin = gs.simulate(gs.NormalizedDSGD(0.1), gs.Quadratic(NODES, 3), NETWORK, steps=10)
    torch.testing.assert_close(run.x, twin.x, rtol=1e-12, atol=1e-12)


def test_parameters_of_a_module_have_their_shapes():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1, bias=False)).double()
    data = [(torch.randn(4, 2).double(), torch.randn(4, 1).double()) for _ in range(NODES)]
    problem = gs.ModuleProblem(module, nn.functional.mse_loss, data, batch_size=2)
    shapes = [p.shape for p in module.parameters()]
    assert list(problem.parameter_shapes) == shapes
    run = gs.simulate(Layerwise(0.1), problem, gs.complete(NODES), steps=1)
    moved = problem.start - run.x[0, 0]
    grads = problem.sample_grad(problem.start.expand(NODES, 1, -1), 0, [0])[:, 0]
    begin = 0
    for shape in shapes:
        piece = slice(begin, begin := begin + shape.numel())
        unit = torch.nn.functional.normalize(grads[:, piece], dim=1)
        torch.testing.assert_close(moved[piece], 0.1 * unit.mean(0), rtol=1e-12, atol=1e-12)
