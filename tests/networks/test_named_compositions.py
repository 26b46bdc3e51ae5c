"""CHOCO-SGD, BEER and MoTEF as printed are a method and a network with compressed messages."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gossamer as gs

NODES, DIM, STEPS, COUNT = 6, 12, 40, 3
LR, GAMMA, BETA = 0.05, 0.3, 0.8
PROBLEM = gs.Quadratic(NODES, DIM, spread=3.0, seed=4)
RING = gs.ring(NODES)
L = RING.weights.numpy() - np.eye(NODES)
NETWORK = RING.compressed(gs.TopK(COUNT / DIM), gamma=GAMMA)
START = PROBLEM.start.expand(NODES, DIM).numpy().copy()


def grad(x: np.ndarray) -> np.ndarray:
    return PROBLEM.local_grad(torch.from_numpy(x)[:, None])[:, 0].numpy()


def top(z: np.ndarray) -> np.ndarray:
    """The largest entries of every row, and 0 for the others."""
    kept = np.zeros_like(z)
    for row, out in zip(z, kept, strict=True):
        largest = np.argsort(np.abs(row))[-COUNT:]
        out[largest] = row[largest]
    return kept


def choco_sgd() -> np.ndarray:
    """Koloskova, Stich and Jaggi, CHOCO-SGD; the first message is uncompressed."""
    x, copy = START, np.zeros_like(START)
    for t in range(STEPS):
        half = x - LR * grad(x)
        copy = copy + (top(half - copy) if t else half - copy)
        x = half + GAMMA * L @ copy
    return x


def beer() -> np.ndarray:
    """Zhao, Li, Li, Richtárik and Chi, BEER; H⁰ = x⁰, G⁰ = C(V⁰)."""
    x, v, g = START, grad(START), grad(START)
    h_x, h_v = START, top(v)
    for _ in range(STEPS):
        x = x + GAMMA * L @ h_x - LR * v
        h_x = h_x + top(x - h_x)
        g_old, g = g, grad(x)
        v = v + GAMMA * L @ h_v + g - g_old
        h_v = h_v + top(v - h_v)
    return x


def motef() -> np.ndarray:
    """Islamov, Gao and Stich, MoTEF; V⁰ = M⁰ = λ g⁰ with λ = 1 − β, H⁰ = x⁰, G⁰ = C(V⁰)."""
    m = v = (1 - BETA) * grad(START)
    x, h_x, h_v = START, START, top(v)
    for _ in range(STEPS):
        x = x + GAMMA * L @ h_x - LR * v
        h_x = h_x + top(x - h_x)
        m_old, m = m, BETA * m + (1 - BETA) * grad(x)
        v = v + GAMMA * L @ h_v + m - m_old
        h_v = h_v + top(v - h_v)
    return x


CASES: dict[str, tuple[gs.Algorithm[Any], Callable[[], np.ndarray]]] = {
    "CHOCO-SGD": (gs.DSGD(LR), choco_sgd),
    "BEER": (gs.DIGing(LR), beer),
    "MoTEF": (gs.MoTEF(LR, BETA), motef),
}


@pytest.mark.parametrize(("method", "printed"), CASES.values(), ids=CASES)
def test_it_is_the_printed_recursion(method: gs.Algorithm[Any], printed: Callable[[], np.ndarray]):
    stack = gs.Stack(method, PROBLEM, NETWORK, None, [0])
    stack.advance(STEPS)
    expected = printed()
    assert np.abs(stack.x[:, 0].numpy() - expected).max() < 1e-12
    assert np.abs(expected - START).max() > 0.1


@pytest.mark.parametrize("name", ["BEER", "MoTEF"])
def test_with_a_tracker_it_comes_to_the_optimum(name: str):
    run = gs.simulate(CASES[name][0], PROBLEM, NETWORK, steps=3000, metrics=["error"])
    assert float(run.final("error")) < 1e-9
