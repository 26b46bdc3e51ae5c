import laws
import numpy as np
import pytest
from scipy import stats

from gossamer.errors import InvalidInput
from gossamer.tails import StableFit, stable_fit


@pytest.mark.parametrize(
    "law", ["stable 1.5", "stable 1.8", "skewed stable 1.5", "t 1.5", "t 3", "lognormal"]
)
def test_agrees_with_scipys_quantile_fit(law: str):
    for x in laws.draw(law)[:5]:
        for sample in (x, np.abs(x), -np.abs(x)):
            index, skewness, location, scale = stats.levy_stable._fitstart(sample)
            fit = stable_fit(sample)
            ours = [fit.tail_index, fit.skewness, fit.location, fit.scale]
            theirs = [float(v) for v in (index, skewness, location, scale)]
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


# Standard errors at n = 10,000 are about 0.02 (index, scale) and 0.05 (skewness); medians of 40.
@pytest.mark.parametrize(
    ("law", "truth"),
    [
        ("stable 1.5", (1.5, 0.0, 1.0, 0.0)),
        ("skewed stable 1.5", (1.5, 0.5, 1.0, 0.0)),
        ("stable 1.8", (1.8, 0.0, 1.0, 0.0)),
    ],
)
def test_consistent_for_stable_laws(law: str, truth: tuple[float, ...]):
    fits = [stable_fit(x) for x in laws.draw(law)]
    medians = np.median([[f.tail_index, f.skewness, f.scale, f.location] for f in fits], axis=0)
    np.testing.assert_allclose(medians, truth, atol=0.05)


def test_calls_finite_variance_infinite():
    for law, index in (("t 3", 1.53), ("lognormal", 1.36)):
        median = np.median([stable_fit(x).tail_index for x in laws.draw(law)])
        assert median == pytest.approx(index, abs=0.03)


def test_a_light_tail_is_gaussian():
    fit = stable_fit(np.linspace(-1, 1, 1000))
    assert (fit.tail_index, fit.skewness) == (2.0, 0.0)
    gaussian = [stable_fit(x) for x in laws.draw("Gaussian")]
    assert np.median([f.tail_index for f in gaussian]) > 1.97
    assert np.median([f.scale for f in gaussian]) == pytest.approx(0.5**0.5, abs=0.01)


def test_shift_and_scale_equivariance():
    x = laws.draw("skewed stable 1.5")[0]
    fit, moved = stable_fit(x), stable_fit(3 * x + 7)
    assert moved.tail_index == pytest.approx(fit.tail_index, rel=1e-9)
    assert moved.scale == pytest.approx(3 * fit.scale, rel=1e-9)
    assert moved.location == pytest.approx(3 * fit.location + 7, rel=1e-9)


@pytest.mark.parametrize("fit", [(1.5, 0.5), (1.8, -1.0), (1.2, 0.9), (0.8, 0.3), (2.0, 0.0)])
def test_density_matches_scipy(fit: tuple[float, float]):
    law = StableFit(*fit, scale=2.0, location=1.0)
    points = np.array([-20.0, -3.0, 0.0, 1.5, 8.0])
    expected = stats.levy_stable(*fit, loc=1.0, scale=2.0).pdf(points)
    np.testing.assert_allclose(law.density(points), expected, atol=1e-6)


def test_refusals():
    with pytest.raises(InvalidInput, match="at least 20"):
        stable_fit(np.arange(19.0))
    with pytest.raises(InvalidInput, match="equal quartiles"):
        stable_fit(np.ones(100))
    with pytest.raises(InvalidInput, match="fit each coordinate"):
        stable_fit(np.ones((100, 2)))
