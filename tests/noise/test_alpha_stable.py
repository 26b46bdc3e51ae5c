import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from gossamer.errors import InvalidInput
from gossamer.noise import AlphaStable, Gaussian


def draw(law: AlphaStable, size: int, seed: int = 0) -> np.ndarray:
    return law.sample((size,), generator=torch.Generator().manual_seed(seed)).numpy()


def test_quantiles_of_the_study():
    # the fraction below each quantile of S1(1.5, 0.5) is binomial: four standard errors
    samples = draw(AlphaStable(1.5, 0.5), 10**6)
    for level, quantile in [(0.5, -0.3661), (0.05, -2.754), (0.95, 3.434), (0.99, 9.79)]:
        error = math.sqrt(level * (1 - level) / samples.size)
        assert abs((samples < quantile).mean() - level) < 4 * error + 1e-4


@pytest.mark.parametrize(
    ("index", "skewness"), [(1.1, 0.7), (1.5, 0.5), (1.5, -1.0), (1.8, 0.0), (1.95, 1.0)]
)
def test_samples_follow_scipys_cdf(index: float, skewness: float):
    law = stats.levy_stable(index, skewness)
    points = np.array([-20.0, -3.0, -1.0, 0.0, 0.7, 2.0, 30.0])
    cdf = law.cdf(points)
    samples = draw(AlphaStable(index, skewness), 10**5)
    empirical = (samples[:, None] < points).mean(axis=0)
    error = np.sqrt(cdf * (1 - cdf) / samples.size)
    assert (np.abs(empirical - cdf) < 4 * error + 1e-5).all()


@pytest.mark.parametrize("skewness", [-1.0, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("index", [1.2, 1.5, 1.9])
def test_means_of_blocks_have_the_same_law(index: float, skewness: float):
    # m^(1−1/α) times the mean of m draws is again S1(α, β): true only if the mean is exactly 0
    law, m = AlphaStable(index, skewness), 256
    blocks = draw(law, 4000 * m).reshape(-1, m).mean(axis=1) * m ** (1 - 1 / index)
    assert stats.ks_2samp(blocks, draw(law, 50_000, seed=1)).pvalue > 1e-3


def test_index_two_is_gaussian_with_variance_two():
    for skewness in (0.0, 1.0):
        law = AlphaStable(2.0, skewness, scale=0.5)
        assert stats.kstest(draw(law, 20_000), stats.norm(scale=0.5**0.5).cdf).pvalue > 1e-3
        assert law.moment(2) == pytest.approx(0.5, rel=1e-12)
        assert law.moment(5) == Gaussian(0.5**0.5).moment(5)


def test_opposite_skewness_mirrors_the_law():
    right, left = draw(AlphaStable(1.3, 0.8), 20_000), draw(AlphaStable(1.3, -0.8), 20_000, seed=1)
    assert stats.ks_2samp(right, -left).pvalue > 1e-3
    assert AlphaStable(1.3, 0.8).moment(1.2) == AlphaStable(1.3, -0.8).moment(1.2)


@pytest.mark.parametrize(("p", "printed"), [(1.1, 2.073), (1.25, 3.017)])
def test_moments_of_the_study(p: float, printed: float):
    assert AlphaStable(1.5, 0.5).moment(p) == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize(("index", "skewness"), [(1.1, 0.9), (1.5, 0.5), (1.9, -1.0)])
def test_first_moment_matches_the_characteristic_function(index: float, skewness: float):
    # E|X| = (2/π) ∫ (1 − Re φ(t)) / t² dt, with φ(t) = exp(−t^α (1 − iβ tan(πα/2)))
    slope = skewness * math.tan(math.pi * index / 2)

    def integrand(t: float) -> float:
        return -math.expm1(-(t**index)) + math.exp(-(t**index)) * (1 - math.cos(slope * t**index))

    head = integrate.quad(lambda s: integrand(math.exp(s)) * math.exp(-s), -300, 0, limit=500)[0]
    tail = integrate.quad(lambda s: integrand(1 / s), 0, 1, limit=500)[0]
    expected = 2 / math.pi * (head + tail)
    assert AlphaStable(index, skewness).moment(1) == pytest.approx(expected, rel=1e-5)


def test_second_moments_limit_is_gaussian():
    assert AlphaStable(2 - 1e-9).moment(1.3) == pytest.approx(
        Gaussian(2**0.5).moment(1.3), rel=1e-6
    )


@pytest.mark.parametrize("index", [1.0, 0.5, 2.001, -1.5, math.inf, math.nan])
def test_refuses_an_index_outside_one_to_two(index: float):
    with pytest.raises(InvalidInput, match=r"tail_index: got .* \(1, 2\]; .*mean does not exist"):
        AlphaStable(index)


@pytest.mark.parametrize("skewness", [1.01, -2.0, math.nan])
def test_refuses_skewness_outside_minus_one_to_one(skewness: float):
    with pytest.raises(InvalidInput, match="skewness"):
        AlphaStable(1.5, skewness)
