"""The analysis, pathwise: each lemma on several networks and noises, in float64."""

import pytest
import torch

import gossamer as gs
from gossamer.networks import StaticNetwork
from gossamer.studies.theory.paths import (
    Path,
    consensus_bounds,
    consensus_errors,
    descent_slack,
    estimator_change_gap,
    mean_steps,
    record_path,
    tracker_expansion_gap,
    tracker_mean_gap,
)

LR, MOMENTUM, STEPS = 0.02, 0.85, 300
NETWORKS = [gs.ring(8), gs.exponential(8), gs.star(8), gs.complete(8)]
NOISES = [None, gs.Gaussian(3**0.5), gs.StudentT(1.5), gs.AlphaStable(1.5, 0.5, 0.1)]


@pytest.fixture(
    scope="module",
    params=[(network, noise) for network in NETWORKS for noise in NOISES],
    ids=lambda pair: f"{pair[0].name}-{type(pair[1]).__name__}",
)
def path(request: pytest.FixtureRequest) -> Path:
    network, noise = request.param
    problem = gs.RobustRegression(num_nodes=8, num_samples=200, dim=6)
    return record_path(gs.GTNSGDm(LR, MOMENTUM), problem, network, noise, STEPS)


def scale(path: Path) -> float:
    """Rounding grows with the largest gradient met."""
    return 1 + float(path.grad.norm(dim=-1).max())


def test_the_trackers_average_is_the_estimators(path: Path):
    assert tracker_mean_gap(path) <= 1e-12 * scale(path)


def test_the_mean_moves_by_at_most_the_step_size(path: Path):
    moved = mean_steps(path)
    assert float(moved.max()) <= LR * (1 + 1e-12)
    if path.network.lam == 0:
        assert torch.allclose(moved, torch.tensor(LR).double(), rtol=1e-9)
    else:
        assert float(moved.min()) < LR * (1 - 1e-6)


def test_consensus_stays_within_its_bound(path: Path):
    assert bool((consensus_errors(path) <= consensus_bounds(path) + 1e-13).all())


def test_descent_lemma_holds_at_every_step(path: Path):
    assert float(descent_slack(path).min()) >= -1e-12 * scale(path)


def test_trackers_unroll_into_changes_of_the_estimators(path: Path):
    assert tracker_expansion_gap(path) <= 1e-12 * scale(path)


def test_estimators_change_by_what_is_new(path: Path):
    assert estimator_change_gap(path) <= 1e-12


class Opposite(gs.Quadratic):
    """Two nodes whose gradients are +1 and −1 everywhere."""

    def local_grad(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(x) * torch.tensor([1.0, -1.0]).double()[:, None, None]


@pytest.mark.parametrize("weight", [0.6, 0.75, 0.95])
def test_consensus_bound_is_attained_by_two_opposed_nodes(weight: float):
    network: StaticNetwork = gs.from_matrix([[weight, 1 - weight], [1 - weight, weight]])
    path = record_path(gs.GTNSGDm(0.1, 0.5), Opposite(2, 1), network, None, 20)
    assert torch.allclose(consensus_errors(path), consensus_bounds(path), rtol=1e-12, atol=1e-14)


def test_a_wrong_path_is_caught():
    """The checks can fail: on a path that no run took, they do."""
    problem, network = gs.Quadratic(8, 3), gs.ring(8)
    good = record_path(gs.GTNSGDm(LR, MOMENTUM), problem, network, gs.Gaussian(), 50)
    bad = Path(good.algorithm, problem, network, 2 * good.x, good.grad, good.v**2, good.y)
    assert tracker_mean_gap(bad) > 1e-3
    assert estimator_change_gap(bad) > 1e-3
    assert tracker_expansion_gap(bad) > 1e-3
    assert float(mean_steps(bad).max()) > LR
