"""Which way is taken, when it is measured, and how it is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from problems.modules import NODES, VECTORS, build, perceptron, points
from torch import Tensor, nn

import gossamer as gs
from gossamer.fingerprint import fingerprint
from gossamer.problems import faster_evaluator


@pytest.mark.parametrize("slow", ["vmap", "loop"])
def test_the_faster_way_is_taken_and_told(slow: str, monkeypatch: pytest.MonkeyPatch):
    """Times are made up: those of the slow way are ten times those of the other."""
    problem = build(perceptron(), VECTORS)
    assert problem.way == "not measured yet"
    at_once, in_turn = problem.evaluator.at_once, problem.evaluator._in_turn
    asked: list[str] = []
    for name, way in (("vmap", at_once), ("loop", in_turn)):
        monkeypatch.setattr(way, "gradients", counted(name, way.gradients, asked))
    times = {"vmap": 1.0, "loop": faster_evaluator.TIMED_NODES / NODES}

    def made_up(*calls: Callable[[], object]) -> list[float]:
        for call in calls:
            call()
        return [10 * times[name] if name == slow else times[name] for name in asked]

    monkeypatch.setattr(faster_evaluator, "shortest_times", made_up)
    x, seeds = points(problem), [0, 7]
    fast = "loop" if slow == "vmap" else "vmap"
    for t in range(3):
        problem.sample_grad(x, t, seeds)
    assert asked == ["vmap", "loop", fast, fast, fast]
    assert problem.way == fast


def counted(name: str, gradients: Callable[..., Tensor], asked: list[str]) -> Callable[..., Tensor]:
    def asks(*given: Any) -> Tensor:
        asked.append(name)
        return gradients(*given)

    return asks


def test_the_way_can_be_chosen_and_is_not_measured_where_it_changes_the_numbers():
    assert build(perceptron(), VECTORS, vectorize=True).way == "vmap"
    assert build(perceptron(), VECTORS, vectorize=False).way == "loop"
    assert build(perceptron(nn.Dropout(0.5)), VECTORS).way == "vmap"


def test_what_a_simulation_chose_is_told_by_the_problem_that_it_was_given():
    """And does not make another problem of it."""
    problem = build(perceptron(), VECTORS)
    before = fingerprint(problem)
    gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=1, dtype=torch.float32)
    assert problem.way in ("vmap", "loop")
    assert fingerprint(problem) == before


@pytest.mark.parametrize("where", ["store", "executor"])
def test_nothing_is_measured_where_bits_are_promised(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The other way, which a busy machine may choose, gives other last digits."""

    def measure(*calls: Callable[[], object]) -> list[float]:
        raise AssertionError("measured")

    monkeypatch.setattr(faster_evaluator, "shortest_times", measure)
    made = perceptron()
    chosen, stacked = build(made, VECTORS), build(made, VECTORS, vectorize=True)
    how = {"store": tmp_path} if where == "store" else {"executor": gs.executors.ThisProcess()}
    task = {"network": gs.ring(NODES), "steps": 3, "seeds": range(2)}
    found = gs.simulate(gs.DSGD(0.1), chosen, **task, **how)
    assert torch.equal(found.x, gs.simulate(gs.DSGD(0.1), stacked, **task, **how).x)
    with pytest.raises(AssertionError, match="measured"):
        gs.simulate(gs.DSGD(0.1), chosen, **task)
