"""The analysis in expectation: each lemma over many seeds, and each bound by its own formula."""

import dataclasses
import math

import pytest
import torch

import gossamer as gs
from gossamer.studies.theory.expectations import (
    Expectation,
    averaged_estimator,
    in_expectation,
    martingale_averaged,
    martingale_mixed,
    martingale_stacked,
    record_paths,
    stacked_errors,
    stacked_estimator,
    tracker_consensus,
)
from gossamer.studies.theory.paths import Path
from gossamer.theory import admissible_p, estimate_sigma

LR, MOMENTUM, STEPS = 0.02, 0.85, 80
NOISES = [gs.Gaussian(3**0.5), gs.StudentT(1.5), gs.AlphaStable(1.5, 0.5, 0.1)]
PROBLEM = gs.RobustRegression(num_nodes=8, num_samples=200, dim=6)


@dataclasses.dataclass(frozen=True)
class Case:
    paths: list[Path]
    sigma: float
    p: float

    def all(self) -> dict[str, Expectation]:
        return in_expectation(self.paths, self.sigma, self.p)


def record(network: gs.Network, noise: gs.Noise, seeds: int = 30) -> Case:
    p = admissible_p(noise)
    paths = record_paths(gs.GTNSGDm(LR, MOMENTUM), PROBLEM, network, noise, STEPS, range(seeds))
    return Case(paths, estimate_sigma(noise, PROBLEM.dim, p).value, p)


@pytest.fixture(
    scope="module",
    params=[(network, noise) for network in (gs.ring(8), gs.complete(8)) for noise in NOISES],
    ids=lambda pair: f"{pair[0].name}-{type(pair[1]).__name__}",
)
def case(request: pytest.FixtureRequest) -> Case:
    return record(*request.param)


def test_every_lemma_holds_at_every_step(case: Case):
    for name, found in case.all().items():
        assert found.share <= 1, name
        below = found.measured <= found.bound + 1e-12 * case.sigma
        assert bool(below.all()), name
        assert found.measured.shape == found.error.shape == found.bound.shape == (STEPS,)


def test_nothing_is_trivially_small(case: Case):
    """Each left side is at least a thousandth of its bound, but where averaging leaves nothing."""
    mixed = {"martingale, mixed noise", "consensus of the trackers"}
    vanish = mixed if case.paths[0].network.lam == 0 else set()
    for name, found in case.all().items():
        assert (found.share < 1e-9) if name in vanish else (found.share > 1e-3), name


def test_the_left_sides_are_what_they_say():
    case = record(gs.ring(8), gs.Gaussian(), seeds=3)
    t, errors = 40, []
    for path in case.paths:
        local = PROBLEM.local_grad(path.x[t][:, None])[:, 0]
        errors.append([(path.v[t] - local).norm(), (path.v[t] - local).mean(0).norm()])
    stacked, averaged = torch.tensor(errors, dtype=torch.float64).mean(0)
    assert stacked_estimator(case.paths, 1.0, 2.0).measured[t] == pytest.approx(float(stacked))
    assert averaged_estimator(case.paths, 1.0, 2.0).measured[t] == pytest.approx(float(averaged))
    spread = [(path.y[t] - path.y[t].mean(0)).norm(dim=1).mean() for path in case.paths]
    tracker = tracker_consensus(case.paths, 1.0, 2.0)
    assert tracker.measured[t] == pytest.approx(float(sum(spread)) / 3)
    assert tracker.error[t] == pytest.approx(float(torch.stack(spread).std()) / math.sqrt(3))


def test_the_bounds_are_those_of_the_paper():
    """Every sum written out once more, term by term, at one step."""
    case = record(gs.ring(8), gs.StudentT(1.5), seeds=3)
    n, lam, L, sigma, p, t = 8, gs.ring(8).lam, PROBLEM.smoothness, case.sigma, case.p, 7
    start = PROBLEM.local_grad(torch.zeros(8, 1, 6).double())[:, 0]
    kept = sum((MOMENTUM ** (t - k) * (1 - MOMENTUM)) ** p for k in range(t + 1)) ** (1 / p)
    lag = sum(MOMENTUM ** (t - k + 1) for k in range(t + 1)) * L * LR * (2 * lam / (1 - lam) + 1)
    root = 2 * math.sqrt(2)
    averaged = MOMENTUM ** (t + 1) * float(start.mean(0).norm())
    averaged += root * kept * sigma / n ** (1 - 1 / p) + lag
    stacked = MOMENTUM ** (t + 1) * float(start.norm()) + root * kept * n * sigma + n * lag
    assert averaged_estimator(case.paths, sigma, p).bound[t] == pytest.approx(averaged, rel=1e-12)
    assert stacked_estimator(case.paths, sigma, p).bound[t] == pytest.approx(stacked, rel=1e-12)
    mixed = sum(lam ** ((t - k + 1) * p) for k in range(t + 1)) ** (1 / p)
    errors = stacked_errors(case.paths).mean(0).tolist()
    tracked = sum(lam ** (t - k + 1) * errors[k] for k in range(t + 1))
    renewal = 1 / MOMENTUM - 1
    tracker = root * math.sqrt(n) * renewal * mixed * sigma + renewal * tracked / math.sqrt(n)
    assert tracker_consensus(case.paths, sigma, p).bound[t] == pytest.approx(tracker, rel=1e-12)


def test_the_martingales_are_those_of_the_paper():
    case = record(gs.ring(8), gs.StudentT(1.5), seeds=2)
    t, p, beta, root = 7, case.p, MOMENTUM, 2 * math.sqrt(2)
    contraction = gs.ring(8).weights - 1 / 8
    sums: dict[str, list[tuple[float, float]]] = {"averaged": [], "stacked": [], "mixed": []}
    for path in case.paths:
        old = [(1 - beta) * beta ** (t - k) * path.noise[k] for k in range(t + 1)]
        far = [torch.matrix_power(contraction, t - k + 1) @ path.noise[k] for k in range(t + 1)]
        per_node = sum(float((z.norm(dim=1) ** p).sum()) for z in old) ** (1 / p)
        whole = sum(float(z.norm()) ** p for z in old) ** (1 / p)
        lam = path.network.lam
        reach = [lam ** (t - k + 1) * float(path.noise[k].norm()) for k in range(t + 1)]
        sums["averaged"].append((float(sum(old).sum(0).norm()), root * per_node))
        sums["stacked"].append((float(sum(old).norm()), root * whole))
        sums["mixed"].append((float(sum(far).norm()), root * sum(z**p for z in reach) ** (1 / p)))
    lemmas = (martingale_averaged, martingale_stacked, martingale_mixed)
    for lemma, expected in zip(lemmas, sums.values(), strict=True):
        found = lemma(case.paths, p)
        left, right = torch.tensor(expected, dtype=torch.float64).mean(0)
        assert found.measured[t] == pytest.approx(float(left), rel=1e-9)
        assert found.bound[t] == pytest.approx(float(right), rel=1e-9)


def test_noise_larger_than_promised_is_caught():
    """The checks can fail: paths whose noise is a thousand times σ break all three bounds."""
    loud = record(gs.ring(8), gs.Gaussian(1000.0), seeds=5)
    for lemma in (tracker_consensus, averaged_estimator, stacked_estimator):
        assert lemma(loud.paths, loud.sigma / 1000, 2.0).share > 1
