"""Replayed programs: the same numbers as the function, with the operations of a careful person."""

import math
import pickle

import pytest
import torch
from torch import Tensor
from torch.func import grad, vmap

import gossamer as gs
from gossamer.problems import flat_program
from gossamer.problems.flat_program import FlatProgram
from gossamer.problems.function_problem import _Stacked

NODES, POINTS, SAMPLES, DIM = 3, 4, 5, 6
F = torch.nn.functional


def normal(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(math.prod(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


X, A, B = normal(NODES, POINTS, DIM), normal(NODES, SAMPLES, DIM), normal(NODES, SAMPLES)


def huber(r: Tensor) -> Tensor:
    return torch.where(r.abs() < 1, r**2 / 2, r.abs() - 0.5)


def gram(m: Tensor) -> Tensor:
    return m.T @ m


LOSSES = {
    "squares": lambda x, a, b: (a @ x - b).square().mean() / 2,
    "biweight": lambda x, a, b: -((1 - ((b - a @ x) / 3) ** 2).clamp(min=0) ** 3).mean(),
    "logistic": lambda x, a, b: F.softplus(-b.sign() * (a @ x)).mean(),
    "huber": lambda x, a, b: huber(a @ x - b).mean(),
    "cosh": lambda x, a, b: (a @ x / 2 - b).cosh().log().sum(),
    "entropy": lambda x, a, b: F.cross_entropy((a @ x)[None], b.softmax(0)[None]),
    "ratio": lambda x, a, b: (3 / (2 + (a @ x) ** 2)).sum() + 1 / (1 + 5 * x.exp().sum()),
    "powers": lambda x, a, b: ((2 * x) ** 4 - (x / 3) ** 3 + (1 + x.abs()) ** 2.5).sum(),
    "norm": lambda x, a, b: 3 * x.norm() - 2 * (a - x).norm(dim=1).sum() + x.abs().sum(),
    "where": lambda x, a, b: torch.where(x > 0, 4 * x.sin(), -x).sum() * b.mean(),
    "sums": lambda x, a, b: ((2 * x + 3 - 5 * a[0]) * (x - 4 * a[1] + 1) - x * 7).sum(),
    "layers": lambda x, a, b: (a @ (x.view(3, 2) @ x.view(2, 3)).tanh().sum(0).repeat(2)).sum(),
    "gram": lambda x, a, b: (gram(x.view(3, 2)) @ gram(x.view(3, 2)).T).mT.cos().sum(),
    "tiny": lambda x, a, b: ((1e-9 * x) ** 3 * 1e27).sum() - (1e-30 * (1e30 * x)).sum(),
    "constant": lambda x, a, b: (x.detach() * 0 + 3).sum() + (0 * x).sum(),
    "own": lambda x, a, b: torch.tensor([2.0, -1.0]).double().sum() * (a * x).sum(),
}


@pytest.mark.parametrize("own_batches", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_program_computes_the_gradient(name: str, own_batches: bool):
    function = _Stacked(LOSSES[name], True, own_batches)
    data = [part[:, None] * normal(NODES, POINTS, *part.shape[1:]) for part in (A, B)]
    given = data if own_batches else [A, B]
    program = FlatProgram(function, fixed_data=not own_batches)
    for x in (X, 2 * X, X.mT.contiguous().mT, X[:, :1].expand_as(X)):
        torch.testing.assert_close(program(x, *given), function(x, *given), rtol=1e-12, atol=1e-12)
    (replayed,) = program.programs.values()
    assert "forward" in repr(replayed.program), "it was traced, once"


def operations(name: str) -> list[str]:
    program = FlatProgram(_Stacked(LOSSES[name], True), fixed_data=True)
    program(X, A, B)
    with torch.profiler.profile() as seen:
        program(X, A, B)
    outermost = [event for event in seen.events() if event.cpu_parent is None]
    return [event.name.removeprefix("aten::") for event in outermost]


def test_no_operation_is_left_that_a_person_would_not_write():
    assert operations("squares") == ["bmm", "sub", "bmm"]
    biweight = ["bmm", "sub", "pow", "add", "clamp", "pow", "ge", "where", "mul", "bmm"]
    assert operations("biweight") == biweight


def traced(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows with every trace."""
    traces, trace = [], flat_program._traced
    monkeypatch.setattr(flat_program, "_traced", lambda *a: traces.append(a) or trace(*a))
    return traces


def test_data_and_kinds_have_their_own_programs(monkeypatch):
    traces = traced(monkeypatch)
    program = FlatProgram(_Stacked(LOSSES["squares"], True), fixed_data=True)
    for x, a, b in ((X, A, B), (X.float(), A.float(), B.float()), (X, 2 * A, B)):
        expected = program.function(x, a, b)
        torch.testing.assert_close(program(x, a, b), expected, rtol=1e-6, atol=1e-6)
        assert program(x, a, b).dtype == x.dtype
    assert len(traces) == 3


@pytest.mark.parametrize(("name", "expected"), [("biweight", 1), ("layers", 3)])
def test_it_is_traced_again_only_for_points_that_the_program_cannot_do(
    monkeypatch, name: str, expected: int
):
    """The shapes in the second loss hold the number of points."""
    traces = traced(monkeypatch)
    program = FlatProgram(_Stacked(LOSSES[name], True), fixed_data=True)
    for x in (X, X[:, :1], normal(NODES, 9, DIM), X[:, :1], X):
        found = program(x, A, B)
        torch.testing.assert_close(found, program.function(x, A, B), rtol=1e-12, atol=1e-12)
    assert len(traces) == expected


def test_what_cannot_be_replayed_is_called():
    """A program that would repeat the first call's secret is found out."""
    calls = []

    def impure(x: Tensor) -> Tensor:
        calls.append(1)
        return x * len(calls)

    program = FlatProgram(impure)
    program(X)
    before = len(calls)
    torch.testing.assert_close(program(X), X * (before + 1))


def test_it_travels_to_another_process_without_its_programs():
    program = FlatProgram(vmap_of_square)
    program(X[0])
    copy = pickle.loads(pickle.dumps(program))
    assert copy.programs == {}
    assert torch.equal(copy(X[0]), 2 * X[0])


def vmap_of_square(x: Tensor) -> Tensor:
    return vmap(grad(lambda y: y.square().sum()))(x)


def test_a_program_is_not_lent_to_other_data():
    """Where both gradients vanish at the point of comparison, nothing would tell them apart."""

    def loss(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return torch.relu(x - a).mean(0).sum()

    data = [torch.full((2, 1), 10.0).double(), torch.full((3, 1), 30.0).double()]
    problem = gs.FunctionProblem(loss, data, start=torch.tensor([20.0]))
    slopes = problem.local_grad(torch.full((2, 1, 1), 20.0, dtype=torch.float64))
    assert slopes.flatten().tolist() == [1.0, 0.0]


def test_what_the_function_reads_may_be_replaced_between_calls():
    factor = [2.0]
    program = FlatProgram(lambda x: factor[0] * x)
    assert torch.equal(program(X), 2 * X)
    factor[0] = 5.0
    program.doubt()
    assert torch.equal(program(X), 5 * X)
    known = dict(program.programs)
    program.doubt()
    program(X)
    assert program.programs == known


@pytest.mark.parametrize("points", [POINTS, POINTS + 1])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_small_change_among_large_numbers_is_noticed(dtype: torch.dtype, points: int):
    """One that the rounding of other coordinates hides, at the same number of points or another."""
    ridge = [1e-3]
    sizes = torch.tensor([1e8, 0.1], dtype=dtype)

    def slopes(x: Tensor) -> Tensor:
        return vmap(grad(lambda y: (sizes * y.square()).sum() + ridge[0] * y.square().sum()))(x)

    program, x = FlatProgram(slopes), normal(POINTS + 1, 2).to(dtype)
    program(x[:POINTS])
    ridge[0] = 0.1
    program.doubt()
    torch.testing.assert_close(program(x[:points]), slopes(x[:points]), rtol=1e-5, atol=0)


def test_programs_of_a_problem_that_is_moved_end_with_it():
    problem = gs.FunctionProblem(
        lambda x, a: (a @ x).square().mean(), normal(NODES, 3, DIM), dim=DIM
    )
    for _ in range(3):
        problem.to(torch.float32).local_grad(X.float())
    assert len(problem._grads.programs) == 0
