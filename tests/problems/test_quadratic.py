"""Quadratics: the known optimum, Claim 1's construction, refusals."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gossamer as gs
from gossamer.problems import PROBLEMS
from gossamer.spec import build


@given(nodes=st.integers(1, 6), dim=st.integers(1, 5), seed=st.integers(-(2**70), 2**70))
def test_the_optimum_against_numpy(nodes: int, dim: int, seed: int):
    problem = gs.Quadratic(nodes, dim, condition=50.0, spread=3.0, seed=seed)
    a, c = problem._curvatures.numpy(), problem._centers.numpy()
    optimum = [np.sum(a[:, k] * c[:, k]) / np.sum(a[:, k]) for k in range(dim)]
    np.testing.assert_allclose(problem.optimum, optimum, atol=1e-12)
    minimum = np.mean([0.5 * np.sum(a[i] * (optimum - c[i]) ** 2) for i in range(nodes)])
    assert problem.minimum == pytest.approx(minimum, abs=1e-12)
    assert problem.smoothness == a.max()
    assert a.min() >= 1 / 50
    assert a.max() <= 1


def test_claim_1():
    """Two nodes at 0 and two at b: f_* = b²/8 and the optimum lies half-way."""
    b = 7.5
    problem = gs.Quadratic.from_centers(
        torch.tensor([[0.0], [0.0], [b], [b]]), start=torch.tensor([0.5])
    )
    assert problem.optimum.item() == b / 2
    assert problem.minimum == b**2 / 8
    assert problem.start.item() == 0.5


def test_default_curvature_is_one():
    centers = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = torch.tensor([[[0.0, 0.0]], [[1.0, 1.0]]]).double()
    expected = torch.tensor([[[-1.0, -2.0]], [[-2.0, -3.0]]]).double()
    assert torch.equal(gs.Quadratic.from_centers(centers).local_grad(x), expected)


def test_integer_centers_are_numbers():
    assert gs.Quadratic.from_centers(torch.tensor([[0], [3]])).optimum.item() == 1.5


def test_describe_sees_every_coefficient_and_the_start():
    centers, start = torch.zeros(2, 2), torch.zeros(2)
    digests = {
        gs.Quadratic.from_centers(centers, start=start).describe()["digest"],
        gs.Quadratic.from_centers(centers + 1e-9, start=start).describe()["digest"],
        gs.Quadratic.from_centers(centers, 2 + centers, start=start).describe()["digest"],
        gs.Quadratic.from_centers(centers, start=start + 1).describe()["digest"],
    }
    assert len(digests) == 4
    described = gs.Quadratic.from_centers(centers).describe()
    assert described == gs.Quadratic.from_centers(centers.double(), start=start).describe()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: gs.Quadratic.from_centers(torch.zeros(3)),
            "centers: got shape (3,), need shape (nodes, dim)",
        ),
        (lambda: gs.Quadratic.from_centers(torch.zeros(0, 3)), "num_nodes: got 0, need"),
        (
            lambda: gs.Quadratic.from_centers(torch.tensor([[torch.nan]])),
            "centers: got NaN or infinite entries",
        ),
        (
            lambda: gs.Quadratic.from_centers(torch.zeros(2, 3), torch.ones(3, 2)),
            "curvatures: got shape (3, 2), need the shape of centers",
        ),
        (
            lambda: gs.Quadratic.from_centers(torch.zeros(1, 2), torch.zeros(1, 2)),
            "curvatures: got 0.0, need",
        ),
        (
            lambda: gs.Quadratic.from_centers(torch.zeros(1, 1), torch.full((1, 1), torch.inf)),
            "curvatures: got inf, need finite numbers > 0",
        ),
        (
            lambda: gs.Quadratic.from_centers(torch.zeros(2, 3), start=torch.zeros(2)),
            "start: got shape (2,), need shape (3,)",
        ),
        (lambda: gs.Quadratic(2, 3, condition=0.5), "condition: got 0.5, need a number in [1, ∞)"),
    ],
)
def test_refusals(build, message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        build()


def test_the_command_line_builds_what_python_builds():
    for name, maker in PROBLEMS.items():
        assert maker is getattr(gs, name)
    typed = build("problem", "Quadratic(8, 3, spread=2)", PROBLEMS)
    assert typed.describe() == gs.Quadratic(8, 3, spread=2).describe()
    given = gs.Quadratic.from_centers(typed._centers, typed._curvatures)
    assert given.describe() == typed.describe()
