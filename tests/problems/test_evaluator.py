"""What a module draws is a function of step, seed and node, and captured graphs change nothing."""

import gc
import pickle
import random
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch
from problems.modules import (
    CLASSES,
    LOOPED,
    NODES,
    SAMPLES,
    VECTORIZED,
    VECTORS,
    AlwaysDropping,
    Branching,
    RandomDepth,
    build,
    cuda,
    perceptron,
    points,
)
from torch import nn

import gossamer as gs
from gossamer.captured import AS_WRITTEN
from gossamer.problems import evaluator
from gossamer.problems.module_problem import ModuleProblem


@pytest.mark.parametrize("vectorize", [True, False])
def test_dropout_masks_are_a_function_of_step_seed_and_node(vectorize: bool):
    problem = build(perceptron(nn.Dropout(0.5)), VECTORS, vectorize=vectorize, batch_size=SAMPLES)
    x = problem.start.expand(NODES, 2, -1)
    before = torch.get_rng_state()
    first = problem.sample_grad(x, 0, [0, 1])
    assert torch.equal(first, problem.sample_grad(x, 0, [0, 1]))
    assert not torch.allclose(first, problem.sample_grad(x, 1, [0, 1]))
    assert not torch.allclose(first[:, 0], first[:, 1])
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(problem.local_loss(x), problem.local_loss(x))


def test_dropout_is_without_bias():
    """On a linear module with a loss linear in its output, the mean gradient has no dropout."""
    data = [(torch.ones(4, 6), torch.zeros(4))] * 2
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 1, bias=False))
    problem = ModuleProblem(module, lambda y, target: (y[:, 0] - target).mean(), data, batch_size=4)
    x, count = problem.start.expand(2, 1, -1), 500
    mean = torch.stack([problem.sample_grad(x, t, [0]) for t in range(count)]).mean()
    deviation = 1 / (count * 2 * 4 * 6) ** 0.5  # each of the masks has mean 1 and variance 1
    assert abs(float(mean) - 1) < 4 * deviation


@pytest.mark.parametrize("vectorize", [True, False])
def test_what_is_random_in_evaluation_mode_is_a_function_all_the_same(vectorize: bool):
    held_out = torch.randn(30, 5), torch.randint(CLASSES, (30,))
    problem = build(AlwaysDropping(), VECTORS, vectorize=vectorize, validation=held_out)
    x = points(problem)
    state = torch.get_rng_state()
    for evaluate in (problem.loss, problem.grad, problem.validation_loss):
        first = evaluate(x[0])
        assert torch.equal(evaluate(x[0]), first)
        torch.testing.assert_close(evaluate(x[0, 1:]), first[1:], rtol=0, atol=1e-14)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("vectorize", [True, False])
def test_on_a_cpu_the_random_numbers_of_gpus_are_left_alone(vectorize, monkeypatch):
    def fail(seed: int) -> None:
        raise AssertionError("seeded")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", fail)
    problem = build(perceptron(nn.Dropout(0.5)), VECTORS, vectorize=vectorize)
    problem.sample_grad(points(problem), 0, [0, 1])


@pytest.mark.parametrize("draw", [random.random, lambda: np.random.random()])
def test_random_numbers_of_python_and_numpy_are_those_of_step_seed_and_node(
    draw: Callable[[], float],
):
    """They used to be drawn unseeded, and the same for all nodes."""
    problem = build(RandomDepth(draw), VECTORS, batch_size=SAMPLES)
    assert problem.way == "loop"
    before = random.getstate(), pickle.dumps(np.random.get_state())
    x = problem.start.expand(NODES, 2, -1)
    runs = [gs.simulate(gs.DSGD(0.1), problem, gs.ring(NODES), steps=9).x for _ in range(2)]
    assert torch.equal(*runs)
    grads = torch.stack([problem.sample_grad(x, t, [0, 7]) for t in range(9)])
    assert torch.equal(grads[4], problem.sample_grad(x, 4, [0, 7]))
    assert torch.equal(grads[4][:, 1:], problem.sample_grad(x[:, 1:], 4, [7]))
    as_first = (grads - grads[:1, :, :1]).norm(dim=-1) < 1e-9
    assert len(as_first.flatten(1, 2).unique(dim=1).T) == 2 * NODES, "each draws for itself"
    assert (random.getstate(), pickle.dumps(np.random.get_state())) == before


@cuda
@pytest.mark.parametrize("vectorize", [True, False, None])
@pytest.mark.parametrize(("make", "shape"), (VECTORIZED | LOOPED).values(), ids=VECTORIZED | LOOPED)
def test_captured_gradients_are_those_of_the_loop(make, shape, vectorize: bool | None):
    if vectorize is not False and (make, shape) in LOOPED.values():
        return
    module = make()
    problem = build(module, shape, vectorize=vectorize).to("cuda")
    loop = build(module, shape, vectorize=False, compile=False).to("cuda")
    for t in range(AS_WRITTEN + 3):
        x = points(loop.to("cpu")).cuda() + 0.01 * t
        found, expected = problem.sample_grad(x, t, [0, 7]), loop.sample_grad(x, t, [0, 7])
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert problem.way.endswith("in a CUDA graph") or make is Branching
    assert loop.way == "loop"


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=cuda)])
@pytest.mark.parametrize("way", [{"vectorize": True}, {"vectorize": False}, {"compile": True}])
def test_what_was_captured_goes_with_its_problem(way: dict[str, bool], device: str):
    """At once, not when Python looks for garbage: a graph keeps the memory of a whole gradient."""
    problem = build(perceptron(), VECTORS, **way).to(device)
    for t in range(AS_WRITTEN + 1):
        problem.sample_grad(problem.start.expand(NODES, 2, -1), t, [0, 1])
    held = weakref.ref(problem.evaluator)
    gc.disable()
    try:
        del problem
        assert held() is None
    finally:
        gc.enable()


@cuda
@pytest.mark.parametrize("vectorize", [True, False])
def test_random_evaluation_on_a_gpu(vectorize: bool):
    problem = build(AlwaysDropping(), VECTORS, vectorize=vectorize).to("cuda")
    x, states = problem.start.expand(2, -1), (torch.get_rng_state(), torch.cuda.get_rng_state())
    assert torch.equal(problem.loss(x), problem.loss(x))
    after = (torch.get_rng_state(), torch.cuda.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(states, after, strict=True))


@pytest.mark.parametrize("vectorize", [True, False])
def test_no_points_have_no_losses(vectorize: bool):
    problem = build(perceptron(), VECTORS, vectorize=vectorize)
    assert problem.loss(problem.start.expand(0, -1)).shape == (0,)


class Skipping(nn.Module):
    """Leaves out its only trained layer in every other evaluation."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :CLASSES] if self.training and random.random() < 0.5 else self.layer(x)


def test_a_gradient_is_zero_where_no_trained_layer_is_reached():
    problem = build(Skipping(), VECTORS, batch_size=4)
    x = problem.start.expand(NODES, 1, -1)
    norms = torch.stack([problem.sample_grad(x, t, [0]).norm(dim=-1) for t in range(20)])
    assert 0 < (norms == 0).double().mean() < 1


@pytest.mark.parametrize("dropout", [False, True])
def test_copies_that_fill_up_a_stack_are_not_evaluated(dropout: bool, monkeypatch):
    """With a store, stacks have 96 runs; here 94 of them are the second one again."""
    module = perceptron(nn.Dropout(0.5)) if dropout else perceptron()
    problem = build(module, VECTORS, vectorize=dropout, batch_size=4)
    calls, seeded = [], evaluator.seeded

    def counted(*ids: Any, **options: bool) -> AbstractContextManager[None]:
        calls.append(1)
        return seeded(*ids, **options)

    monkeypatch.setattr(evaluator, "seeded", counted)
    x = problem.start.repeat(NODES, 96, 1)
    x[:, 0] += 1
    seeds = [4, *[5] * 95]
    found = problem.sample_grad(x, 3, seeds)
    assert len(calls) == (2 if dropout else 2 * NODES)
    expected = [problem.sample_grad(x[:, [run]], 3, [seeds[run]]) for run in (0, 95)]
    assert torch.equal(found[:, [0, 95]], torch.cat(expected, dim=1))
    assert torch.equal(found[:, 1:], found[:, [95]].expand(-1, 95, -1))
