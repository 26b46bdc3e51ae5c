"""Which way is taken, when it is measured, and how it is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from problems.modules import IMAGES, NODES, VECTORS, build, convolution, perceptron, points
from torch import Tensor, nn

import gossamer as gs
from gossamer.fingerprint import fingerprint
from gossamer.problems import faster_evaluator
from gossamer.problems.faster_evaluator import TIMED_NODES
from gossamer.problems.module_problem import ModuleProblem


@pytest.mark.parametrize("slow", ["vmap", "loop"])
def test_the_faster_way_is_taken_and_told(slow: str, monkeypatch: pytest.MonkeyPatch):
    """Times are made up: those of the slow way are ten times those of the other."""
    problem = build(perceptron(), VECTORS)
    assert problem.way == "not measured yet"
    asked = asked_with(problem, {"vmap": 1e-3, "loop": 1e-3} | {slow: 1e-2}, monkeypatch)
    x, seeds = points(problem), [0, 7]
    fast = "loop" if slow == "vmap" else "vmap"
    for t in range(3):
        problem.sample_grad(x, t, seeds)
    timed = [("loop", TIMED_NODES), ("vmap", NODES), ("loop", TIMED_NODES)]
    assert asked == [*timed, *[(fast, NODES)] * 3]
    assert problem.way == fast


@pytest.mark.parametrize("fast", ["vmap", "loop"])
def test_losses_go_the_way_of_gradients(fast: str, monkeypatch: pytest.MonkeyPatch):
    problem = build(perceptron(), VECTORS)
    asked_with(problem, {"vmap": 1e-2, "loop": 1e-2} | {fast: 1e-3}, monkeypatch)
    ways = {"vmap": problem.evaluator.at_once, "loop": problem.evaluator.in_turn}
    x, seen = points(problem), []
    problem.sample_grad(x, 0, [0, 7])
    for name, way in ways.items():
        for of in ("losses", "loss_gradients"):
            monkeypatch.setattr(way, of, counted(name, getattr(way, of), seen))
    problem.local_loss(x), problem.local_grad(x)
    assert {name for name, _ in seen} == {fast}


@pytest.mark.parametrize("slow", ["vmap", "loop"])
def test_of_a_large_model_a_few_nodes_are_timed(slow: str, monkeypatch: pytest.MonkeyPatch):
    """All nodes at once may take a minute, and more memory than one after the other."""
    problem = build(perceptron(), VECTORS)
    asked = asked_with(problem, {"vmap": 1.0, "loop": 1.0} | {slow: 3.0}, monkeypatch)
    problem.sample_grad(points(problem), 0, [0, 7])
    assert [nodes for _, nodes in asked] == [TIMED_NODES] * 3 + [NODES]
    assert problem.way != slow


def asked_with(
    problem: ModuleProblem, seconds: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, int]]:
    """Which way is asked for how many nodes, where a node takes so many seconds."""
    asked: list[tuple[str, int]] = []
    ways = {"vmap": problem.evaluator.at_once, "loop": problem.evaluator.in_turn}
    for name, way in ways.items():
        monkeypatch.setattr(way, "gradients", counted(name, way.gradients, asked))

    def made_up(*calls: Callable[[], object]) -> list[float]:
        for call in calls:
            call()
        return [seconds[name] * nodes for name, nodes in asked[-len(calls) :]]

    monkeypatch.setattr(faster_evaluator, "shortest_times", made_up)
    return asked


def counted(
    name: str, gradients: Callable[..., Tensor], asked: list[tuple[str, int]]
) -> Callable[..., Tensor]:
    def asks(x: Tensor, *given: Any) -> Tensor:
        asked.append((name, len(x)))
        return gradients(x, *given)

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
@pytest.mark.parametrize(
    ("made", "shape", "at_once"),
    [(perceptron(), VECTORS, True), (convolution(), IMAGES, False)],
    ids=["products", "convolutions"],
)
def test_nothing_is_measured_where_bits_are_promised(
    made: nn.Module,
    shape: tuple[int, ...],
    at_once: bool,
    where: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """The other way, which a busy machine may choose, gives other last digits."""

    def measure(*calls: Callable[[], object]) -> list[float]:
        raise AssertionError("measured")

    monkeypatch.setattr(faster_evaluator, "shortest_times", measure)
    chosen, known = build(made, shape), build(made, shape, vectorize=at_once)
    how = {"store": tmp_path} if where == "store" else {"executor": gs.executors.ThisProcess()}
    task = {"network": gs.ring(NODES), "steps": 3, "seeds": range(2)}
    found = gs.simulate(gs.DSGD(0.1), chosen, **task, **how)
    assert torch.equal(found.x, gs.simulate(gs.DSGD(0.1), known, **task, **how).x)
    with pytest.raises(AssertionError, match="measured"):
        gs.simulate(gs.DSGD(0.1), chosen, **task)
