import math

import laws
import numpy as np
import pytest
from scipy import stats

from gossamer.errors import InvalidInput
from gossamer.tails import pareto_fit, pareto_fit_cutoffs


def gammas(samples: np.ndarray, k: int) -> np.ndarray:
    return np.array([pareto_fit(x, k).gamma for x in samples])


@pytest.mark.parametrize("law", ["t 1.5", "t 3", "Gaussian", "stable 1.8", "lognormal"])
def test_is_the_maximum_likelihood_fit_of_a_generalized_pareto_law(law: str):
    x = laws.draw(law)[0]
    ordered = np.sort(np.abs(x))[::-1]
    excesses = ordered[:500] - ordered[500]
    shape, _, scale = stats.genpareto.fit(excesses, floc=0)
    ours = pareto_fit(x, 500).gamma
    assert ours == pytest.approx(shape, abs=1e-3)
    theirs = stats.genpareto.logpdf(excesses, shape, scale=scale).sum()
    scales = scale * np.linspace(0.98, 1.02, 401)
    best = max(stats.genpareto.logpdf(excesses, ours, scale=s).sum() for s in scales)
    assert best > theirs - 1e-4


@pytest.mark.parametrize("law", ["Gaussian", "t 3", "t 1.5"])
def test_few_samples_have_no_shape_below_minus_one(law: str):
    # there the likelihood grows without bound towards a tail that ends at the largest sample
    for x in laws.draw(law)[:, :200]:
        ordered = np.sort(np.abs(x))[::-1]
        excesses = ordered[:10] - ordered[10]
        theta = np.append(-1 + np.geomspace(1e-6, 0.999, 500), np.geomspace(1e-3, 1e3, 500))
        shapes = np.log1p(theta / excesses[0] * excesses[:, None]).mean(axis=0)
        likelihoods = np.log(theta / shapes) - shapes
        ours = pareto_fit(x, 10).gamma
        assert ours >= -1
        around = (shapes >= -1) & (np.abs(shapes - ours) < 0.1)
        best = shapes[around][likelihoods[around].argmax()]
        assert ours == pytest.approx(best, abs=0.02)


# Excesses of a generalized Pareto law have that law again, exactly, and k·var(γ̂) → (1 + γ)². The
# band is four standard errors of the mean plus a finite-k bias of order 1/k; the deviation of 100
# estimates has a relative error of 7 %.
@pytest.mark.parametrize("gamma", [2 / 3, 1 / 3, -0.2])
def test_published_mean_and_variance(gamma: float):
    estimates = gammas(stats.genpareto.rvs(gamma, size=(100, 4000), random_state=0) + 10, 400)
    error = (1 + gamma) / math.sqrt(400)
    assert estimates.mean() == pytest.approx(gamma, abs=4 * error / 10 + 5 / 400)
    assert estimates.std() == pytest.approx(error, rel=4 * 0.07)


@pytest.mark.parametrize("law", ["Pareto 1.5", "stable 1.5", "skewed stable 1.5", "t 1.5"])
def test_finds_the_index_of_heavy_laws(law: str):
    # median of 40 at k = 500: error 1.25 (1 + γ) / √(40·500) = 0.015; bias of the law ≤ 0.03
    assert np.median(gammas(laws.draw(law), 500)) == pytest.approx(1 / 1.5, abs=0.03 + 4 * 0.015)


def test_sees_the_infinite_variance_of_stable_1_8_that_hill_misses():
    assert np.median(gammas(laws.draw("stable 1.8"), 500)) == pytest.approx(1 / 1.8, abs=0.06)


def test_a_shift_and_a_scale_change_nothing():
    x = np.abs(laws.draw("t 1.5")[0])
    assert pareto_fit(7 * x + 300, 500).gamma == pytest.approx(pareto_fit(x, 500).gamma, abs=1e-6)


def test_gaussian_has_no_power_tail():
    for x in laws.draw("Gaussian")[:10]:
        fits = pareto_fit_cutoffs(x)
        assert not any(fit.power_tail for fit in fits.values())
        assert str(fits["5 %"]).startswith("none (γ = ")


def test_index_and_interval_are_those_of_gamma_inverted():
    fit = pareto_fit(laws.draw("t 1.5")[0], 500)
    for (low, high), z in ((fit.interval, 1.959964), (fit.bounds, 1.644854)):
        half = z * fit.standard_error
        assert low == pytest.approx(1 / (fit.gamma + half), abs=1e-6)
        assert high == pytest.approx(1 / (fit.gamma - half), abs=1e-6)
    assert fit.tail_index == pytest.approx(1 / fit.gamma, abs=1e-6)
    assert fit.widened(3).standard_error == 3 * fit.standard_error


@pytest.mark.parametrize(
    ("k", "low", "high"), [(500, 0.94, 0.94), (50, 0.89, 0.91), (10, 0.61, 0.69)]
)
def test_few_excesses_have_too_narrow_an_interval_as_is_said(k: int, low: float, high: float):
    # the share of 300 samples has a standard error of at most 3 %
    for index in (1.5, 3.0):
        samples = stats.pareto.rvs(index, size=(300, 20 * k), random_state=0)
        intervals = [pareto_fit(row, k).interval for row in samples]
        share = np.mean([first <= index <= last for first, last in intervals])
        assert low - 0.06 < share < high + 0.06


def test_an_index_without_bound_is_infinite():
    fit = pareto_fit(laws.draw("Gaussian")[0], 500)
    assert fit.tail_index == math.inf
    assert fit.interval[1] == math.inf


def test_refuses_equal_largest_values_and_k_below_two():
    with pytest.raises(InvalidInput, match="equal largest values"):
        pareto_fit([2.0, 2.0, 2.0, 1.0], 2)
    with pytest.raises(InvalidInput, match="at least 2"):
        pareto_fit([3.0, 2.0, 1.0], 1)
