import math

import laws
import numpy as np
import pytest

from gossamer.errors import InvalidInput
from gossamer.tails import moments, moments_cutoffs


def gammas(samples: np.ndarray, k: int) -> np.ndarray:
    return np.array([moments(x, k).gamma for x in samples])


# γ and the asymptotic variance k·var(γ̂) of Dekkers, Einmahl and de Haan: Pareto, exponential and
# uniform are exact members of the three domains. The band is four standard errors of the mean plus
# the finite-k bias of order 1/√k · 1/√k.
@pytest.mark.parametrize(
    ("gamma", "variance", "draw"),
    [
        (2 / 3, 1 + 4 / 9, lambda rng, shape: 1 + rng.pareto(1.5, shape)),
        (0.0, 1.0, lambda rng, shape: 10 + rng.exponential(size=shape)),
        (
            -1.0,
            4 * 3 * (4 - 8 * 3 / 4 + 16 * 3 / (4 * 5)),
            lambda rng, shape: 5 + rng.random(shape),
        ),
    ],
)
def test_published_mean_and_variance(gamma: float, variance: float, draw):
    estimates = gammas(draw(np.random.default_rng(0), (200, 20_000)), 400)
    error = math.sqrt(variance / 400)
    assert estimates.mean() == pytest.approx(gamma, abs=4 * error / math.sqrt(200) + 0.03)
    assert estimates.std() == pytest.approx(error, rel=4 / math.sqrt(400) + 0.1)
    reported = moments(draw(np.random.default_rng(1), 20_000), 400).standard_error
    assert reported == pytest.approx(error, rel=0.25)


@pytest.mark.parametrize("law", ["Pareto 1.5", "stable 1.5", "skewed stable 1.5", "t 1.5"])
def test_finds_the_index_of_heavy_laws(law: str):
    # median of 40 at k = 500: error 1.25 √(1 + γ²) / √(40·500) = 0.011; bias of the law ≤ 0.05
    assert np.median(gammas(laws.draw(law), 500)) == pytest.approx(1 / 1.5, abs=0.05 + 4 * 0.011)


def test_sees_the_infinite_variance_of_stable_1_8_that_hill_misses():
    assert np.median(gammas(laws.draw("stable 1.8"), 500)) == pytest.approx(1 / 1.8, abs=0.09)


def test_t_3():
    assert np.median(gammas(laws.draw("t 3"), 500)) == pytest.approx(1 / 3, abs=0.05 + 4 * 0.01)


def test_gaussian_has_no_power_tail():
    for x in laws.draw("Gaussian"):
        estimates = moments_cutoffs(x)
        assert not any(estimate.power_tail for estimate in estimates.values())
        assert "no power tail" in str(estimates["5 %"])


def test_index_and_interval_are_those_of_gamma_inverted():
    estimate = moments(laws.draw("t 1.5")[0], 500)
    low, high = estimate.interval
    half = 1.96 * estimate.standard_error
    assert low == pytest.approx(1 / (estimate.gamma + half), rel=1e-4)
    assert high == pytest.approx(1 / (estimate.gamma - half), rel=1e-4)
    assert estimate.tail_index == 1 / estimate.gamma


def test_an_index_without_bound_is_infinite():
    estimate = moments(laws.draw("Gaussian")[0], 500)
    assert estimate.tail_index == math.inf
    assert estimate.interval[1] == math.inf


def test_refuses_equal_largest_values_and_k_below_two():
    with pytest.raises(InvalidInput, match="equal largest values"):
        moments([2.0, 2.0, 2.0, 1.0], 2)
    with pytest.raises(InvalidInput, match="at least 2"):
        moments([3.0, 2.0, 1.0], 1)
