"""The paper's synthetic task against plain numpy, shard by shard."""

import re

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.problems.robust_regression import TUKEY

SIZES = {20: [50] * 20, 40: [25] * 40, 3: [334, 333, 333], 7: [143] * 6 + [142], 1: [1000]}


def data(problem: gs.RobustRegression) -> tuple[np.ndarray, np.ndarray]:
    """X and y, read back from one node that holds them all."""
    whole = gs.RobustRegression(num_nodes=1, seed=problem.seed)
    return whole._features[0].mT.numpy() * TUKEY, -whole._offset[0, 0].numpy() * TUKEY


def biweight(r: np.ndarray) -> np.ndarray:
    return np.where(abs(r) <= TUKEY, TUKEY**2 / 6 * (1 - (1 - (r / TUKEY) ** 2) ** 3), TUKEY**2 / 6)


def slope(r: np.ndarray) -> np.ndarray:
    return np.where(abs(r) <= TUKEY, r * (1 - (r / TUKEY) ** 2) ** 2, 0.0)


@pytest.mark.parametrize("num_nodes", SIZES)
def test_padded_shards_equal_a_loop_over_shards(num_nodes: int):
    problem = gs.RobustRegression(num_nodes=num_nodes, seed=3)
    features, labels = data(problem)
    x = 2 * torch.randn(num_nodes, 4, 20, dtype=torch.float64)
    losses, grads, first = problem.local_loss(x), problem.local_grad(x), 0
    curvatures = []
    for node, size in enumerate(SIZES[num_nodes]):
        X, y = features[first : first + size], labels[first : first + size]
        for point in range(4):
            r = y - X @ x[node, point].numpy()
            assert float(losses[node, point]) == pytest.approx(biweight(r).mean(), abs=1e-12)
            np.testing.assert_allclose(grads[node, point], -X.T @ slope(r) / size, atol=1e-12)
        curvatures.append(np.linalg.eigvalsh(X.T @ X / size)[-1])
        first += size
    assert first == 1000
    assert problem.smoothness == pytest.approx(max(curvatures), abs=1e-12)


def test_the_data_is_the_papers():
    problem = gs.RobustRegression(seed=0)
    features, labels = data(problem)
    assert features.shape == (1000, 20)
    assert set(features.flatten().round(12)) == {0.0, 1.0}
    np.testing.assert_allclose(labels, features @ problem.optimum.numpy(), atol=1e-12)
    expected = np.array([0.9] * 2 + [0.5] * 2 + [0.1] * 16)
    error = np.sqrt(expected * (1 - expected) / 1000)
    assert (abs(features.mean(0) - expected) < 4 * error).all()
    assert torch.equal(problem.start, torch.zeros(20, dtype=torch.float64))
    assert problem.minimum == 0.0


def test_the_smoothness_is_attained_at_the_optimum():
    """At w* every residual is 0, where ℓ'' = 1: the steepest node rises at rate L there."""
    problem = gs.RobustRegression()
    hessian = torch.autograd.functional.jacobian(
        lambda w: torch.autograd.grad(
            problem.local_loss(w.expand(20, 1, 20)).sum(), w, create_graph=True
        )[0],
        problem.optimum.clone().requires_grad_(),
    )
    features, _ = data(problem)
    np.testing.assert_allclose(hessian, features.T @ features / 50, atol=1e-10)


def test_seeds_decide_the_data_whatever_the_default_precision():
    first, again, other = (gs.RobustRegression(seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.optimum, again.optimum)
    assert torch.equal(first._features, again._features)
    assert not torch.equal(first.optimum, other.optimum)
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(gs.RobustRegression(seed=0).optimum, first.optimum)
    finally:
        torch.set_default_dtype(torch.float32)


def test_nodes_share_the_data_of_a_seed():
    """The number of nodes cuts the same thousand samples differently."""
    one, many = gs.RobustRegression(1, seed=5), gs.RobustRegression(20, seed=5)
    x = torch.randn(3, 20, dtype=torch.float64)
    assert torch.equal(one.optimum, many.optimum)
    torch.testing.assert_close(one.loss(x), many.loss(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_nodes": 0}, "num_nodes: got 0, need an integer of at least 1"),
        ({"num_nodes": -3}, "num_nodes: got -3, need"),
        ({"num_nodes": 2.5}, "num_nodes: got 2.5, need"),
        (
            {"num_nodes": 1001},
            "num_samples: got 1000, the default, need at least one for each",
        ),
        ({"num_nodes": 5, "num_samples": 4}, "num_samples: got 4, need at least"),
        ({"dim": 3}, "dim: got 3, need an integer ≥ 4"),
    ],
)
def test_refusals(arguments: dict[str, float], message: str):
    with pytest.raises(gs.InvalidInput, match=re.escape(message)):
        gs.RobustRegression(**arguments)
