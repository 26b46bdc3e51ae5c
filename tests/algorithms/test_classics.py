"""EXTRA, Exact Diffusion and the orders of tracking: as printed, and where they come to rest."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from algorithms.contract import close, normal

import gossamer as gs

NODES, DIM, STEPS, LR = 6, 3, 25, 0.2
NETWORK = gs.ring(NODES)
W = NETWORK.weights.numpy()
HALF = (np.eye(NODES) + W) / 2
CURVATURES = (
    0.2 + 0.8 * torch.rand(NODES, DIM, generator=torch.Generator().manual_seed(1))
).double()
CENTERS = normal(NODES, DIM, seed=2)
OPTIMUM = (CURVATURES * CENTERS).sum(0) / CURVATURES.sum(0)
START = normal(NODES, DIM, seed=3).numpy()


def grad(x: np.ndarray) -> np.ndarray:
    return CURVATURES.numpy() * (x - CENTERS.numpy())


def points(
    method: gs.Algorithm[Any], start: np.ndarray = START, network: gs.Network = NETWORK
) -> list[np.ndarray]:
    """x¹, x², … of nodes that do not begin at one point."""
    x = torch.from_numpy(start)
    state, seen = method.init(x), []
    for t in range(STEPS):
        mix = network.channel([0], torch.float64, "cpu").talk(t, ())
        x, state = method.step(t, x, torch.from_numpy(grad(x.numpy())), state, mix)
        seen.append(x.numpy())
    return seen


Second = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""xᵗ⁺² from xᵗ⁺¹ and xᵗ."""


def printed(x: np.ndarray, first: np.ndarray, second: Second) -> list[np.ndarray]:
    seen = [x, first]
    while len(seen) <= STEPS:
        seen.append(second(seen[-1], seen[-2]))
    return seen[1:]


def extra(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return (np.eye(NODES) + W) @ new - HALF @ old - LR * (grad(new) - grad(old))


def exact_diffusion(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return HALF @ (2 * new - old - LR * (grad(new) - grad(old)))


def agree(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- as printed


def test_extra_is_the_papers_recursion():
    agree(points(gs.EXTRA(LR)), printed(START, W @ START - LR * grad(START), extra))


def test_exact_diffusion_is_the_papers_recursion():
    first = HALF @ (START - LR * grad(START))
    agree(points(gs.ExactDiffusion(LR)), printed(START, first, exact_diffusion))


def test_nids_is_exact_diffusion_after_one_step_of_ones_own():
    first = START - LR * grad(START)
    nids = printed(START, first, exact_diffusion)
    agree(points(gs.ExactDiffusion(LR), first)[:-1], nids[1:])


@pytest.mark.parametrize("local_steps", [1, 4])
def test_talking_now_and_then_it_is_local_exact_diffusion(local_steps: int):
    """As printed: τ steps along gradient and correction, then one exchange."""
    method, network = gs.ExactDiffusion(LR, correction=1 / local_steps), NETWORK.every(local_steps)
    x, y, expected = START, np.zeros_like(START), []
    while len(expected) < STEPS // local_steps:
        phi = x
        for _ in range(local_steps):
            phi = phi - LR * grad(phi) - y / local_steps
        x = HALF @ phi
        y = y + phi - x
        expected.append(x)
    talks = points(method, network=network)[local_steps - 1 :: local_steps]
    agree(talks, expected)


def test_without_momentum_motef_is_diging():
    ours, theirs = points(gs.MoTEF(LR, momentum=0.0)), points(gs.DIGing(LR))
    assert all(map(np.array_equal, ours, theirs))


# ---------------------------------------------------------------- where they come to rest

EXACT = [
    gs.EXTRA(LR),
    gs.ExactDiffusion(LR),
    gs.ExactDiffusion(LR, correction=0.25),
    gs.DIGing(LR),
    gs.ATCTracking(LR),
    gs.MoTEF(LR, momentum=0.5),
]


@pytest.mark.parametrize("method", EXACT, ids=repr)
def test_nodes_that_differ_come_to_the_optimum_with_a_constant_step(method: gs.Algorithm[Any]):
    x = torch.from_numpy(START)
    state, mix = method.init(x), NETWORK.mixer()
    for t in range(600):
        x, state = method.step(t, x, CURVATURES * (x - CENTERS), state, mix)
    close(x, OPTIMUM.expand_as(x))


@pytest.mark.parametrize("method", EXACT[:3], ids=repr)
def test_at_rest_the_correction_is_the_gradient_of_the_node(method: gs.Algorithm[Any]):
    x = OPTIMUM.expand(NODES, DIM).contiguous()
    g = CURVATURES * (x - CENTERS)
    y = -method.lr * g / method.hyperparameters.get("correction", 1.0)
    moved, state = method.step(0, x, g, method.init(x)._replace(y=y), NETWORK.mixer())
    close(moved, x)
    close(state.y, y)


@pytest.mark.parametrize("method", EXACT[:3], ids=repr)
def test_corrections_cancel_whatever_the_gradients_are(method: gs.Algorithm[Any]):
    x = torch.from_numpy(START)
    state = method.init(x)
    for t, g in enumerate(gs.StudentT(1.5).sample((30, NODES, DIM), generator=torch.Generator())):
        x, state = method.step(t, x, g, state, NETWORK.mixer())
        assert state.y.sum(0).abs().max() < 1e-12 * (1 + state.y.abs().max())


# ---------------------------------------------------------------- why some networks are refused


@pytest.mark.parametrize("kind", [gs.EXTRA, gs.ExactDiffusion])
def test_where_messages_are_lost_one_way_it_would_go_elsewhere(kind: type[gs.Algorithm[Any]]):
    """Nothing diverges, nothing warns, and the point is wrong; both ways it is right."""
    careless = dataclasses.make_dataclass("Careless", [], bases=(kind,), frozen=True)
    careless.needs_symmetric = False
    problem, errors = gs.Quadratic(NODES, DIM, spread=3), []
    for both_ways in (False, True):
        network = NETWORK.drops(0.1, both_ways)
        run = gs.simulate(careless(LR), problem, network, steps=600, metrics=["error"])
        errors.append(float(run.final("error")))
    assert errors[0] > 0.1
    assert errors[1] < 1e-9
