"""DNSGD is a composition: batches, GT-NSGDm without momentum, and a network that accelerates."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from algorithms.contract import close, normal
from torch import Tensor

import gossamer as gs
from gossamer.data import BatchOrder

NODES, DIM, SAMPLES, BATCH, ROUNDS, SEED, STEPS = 6, 3, 20, 4, 3, 5, 25
RING = gs.ring(NODES)
DATA = normal(NODES, SAMPLES, 1 + DIM)


def loss(x: Tensor, rows: Tensor) -> Tensor:
    return ((rows[:, 1:] @ x - rows[:, 0]).cosh().log()).mean()


def sample_grad(node: int, sample: int, x: np.ndarray) -> np.ndarray:
    target, *features = DATA[node, sample].numpy()
    return np.tanh(np.dot(features, x) - target) * np.array(features)


def gossip(z: np.ndarray) -> np.ndarray:
    """Chebyshev's polynomial by its recursion, T₀ = 1, T₁ = W/λ, scaled to keep averages."""
    W, lam = RING.weights.numpy(), RING.lam
    old, new, old_scale, scale = z, W @ z / lam, 1.0, 1 / lam
    for _ in range(ROUNDS - 1):
        old, new = new, 2 * W @ new / lam - old
        old_scale, scale = scale, 2 * scale / lam - old_scale
    return new / scale


def dnsgd(gossip: Callable[[np.ndarray], np.ndarray], lr: float) -> Iterator[np.ndarray]:
    """v: means over batches; y ← gossip(y + v − v⁻); x ← gossip(x − η y/‖y‖)."""
    orders = [BatchOrder(SAMPLES, BATCH, SEED, node) for node in range(NODES)]
    x = y = v_old = np.zeros((NODES, DIM))
    for t in range(STEPS):
        batches = [order.at(t).tolist() for order in orders]
        v = np.array(
            [np.mean([sample_grad(i, s, x[i]) for s in b], axis=0) for i, b in enumerate(batches)]
        )
        y, v_old = gossip(y + v - v_old), v
        x = gossip(x - lr * y / np.linalg.norm(y, axis=1, keepdims=True))
        yield x


def test_the_composition_is_the_recursion():
    problem = gs.FunctionProblem(loss, DATA, dim=DIM, batch_size=BATCH)
    method, network = gs.GTNSGDm(lr=0.05, momentum=0), RING.accelerated(ROUNDS)
    run = gs.simulate(method, problem, network, steps=STEPS, seeds=SEED)
    *_, expected = dnsgd(gossip, 0.05)
    close(run.x[:, 0], torch.from_numpy(expected))
