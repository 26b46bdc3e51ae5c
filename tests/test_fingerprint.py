"""Equal content, equal fingerprint; anything else, another one."""

import functools

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn

import gossamer as gs
from gossamer.fingerprint import fingerprint

SCALE = 1.0


def scaled(x: float) -> float:
    return SCALE * x


def closure(factor: float):
    return lambda x: factor * x


class Holds:
    def __init__(self, content: object) -> None:
        self.content = content

    @functools.cached_property
    def computed(self) -> int:
        return 1


def linear(weight: float) -> nn.Module:
    layer = nn.Linear(2, 1)
    nn.init.constant_(layer.weight, weight)
    nn.init.zeros_(layer.bias)
    return layer


DIFFERENT = [
    (1, 2),
    (1, 1.0),
    ("a", b"a"),
    ([1, 2], [2, 1]),
    ([1], (1,)),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (torch.zeros(2), torch.zeros(2, 1)),
    (torch.zeros(2), torch.zeros(2).double()),
    (torch.zeros(2), torch.tensor([0.0, 1.0])),
    (torch.tensor(1.0), torch.tensor(2.0)),
    (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse()),
    (np.zeros(2), np.ones(2)),
    (closure(1.0), closure(2.0)),
    (functools.partial(scaled, 1), functools.partial(scaled, 2)),
    (Holds(1), Holds(2)),
    (Holds(1).__init__, Holds(2).__init__),
    (linear(1.0), linear(2.0)),
    (gs.Quadratic(3, 2, seed=0), gs.Quadratic(3, 2, seed=1)),
    (gs.ring(5), gs.ring(5).drops(0.1)),
    (gs.from_graph(nx.path_graph(4)), gs.from_graph(nx.star_graph(3))),
    (gs.StudentT(1.5), gs.StudentT(1.5, scale=2.0)),
    (gs.DSGD, gs.GTDSGD),
    (torch.float32, torch.float64),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_fingerprint(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"a": [1, (2.0, "x")], "b": {3}},
        lambda: torch.arange(6.0).view(2, 3),
        lambda: np.arange(4),
        lambda: linear(1.0),
        lambda: closure(2.0),
        lambda: Holds([torch.ones(2)]),
        lambda: gs.Quadratic(3, 2),
        lambda: gs.ring(5).drops(0.1).compressed(gs.TopK(0.1)),
    ],
)
def test_equal_content_has_the_same(make):
    assert fingerprint(make()) == fingerprint(make())


def test_a_global_that_a_function_reads_is_part_of_it(monkeypatch: pytest.MonkeyPatch):
    before = fingerprint(scaled)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert fingerprint(scaled) != before


def test_what_is_remembered_of_a_computation_is_not():
    holds = Holds(1)
    before = fingerprint(holds)
    assert holds.computed == 1
    assert fingerprint(holds) == before


def test_what_holds_itself_ends():
    holds = Holds([])
    holds.content.append(holds)
    assert fingerprint(holds) == fingerprint(holds)


@pytest.mark.parametrize(
    "problem",
    [
        gs.RobustRegression(4),
        gs.Quadratic(4, 3),
        gs.LogisticRegression(gs.data.load("breast_cancer").split(4)),
        gs.FunctionProblem(lambda x, d: ((x - d) ** 2).sum(), torch.ones(4, 3), dim=3),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problems_are_the_same_after_they_were_run(problem: gs.Problem):
    before = fingerprint(problem)
    gs.simulate(gs.DSGD(0.01), problem, gs.ring(4), steps=4)
    assert fingerprint(problem) == before
