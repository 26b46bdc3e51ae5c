import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from gossamer.errors import InvalidInput
from gossamer.noise import StudentT


def draw(df: float, size: int, seed: int = 0) -> np.ndarray:
    return StudentT(df).sample((size,), generator=torch.Generator().manual_seed(seed)).numpy()


@pytest.mark.parametrize("df", [1.001, 1.5, 3.0, 1e9])
def test_samples_follow_the_t_law(df: float):
    assert stats.kstest(draw(df, 20_000), stats.t(df).cdf).pvalue > 1e-3


@pytest.mark.parametrize("df", [1.5, 3.0])
def test_far_tail_is_exact(df: float):
    # counts beyond the 1e-4 quantile are Poisson(100) on either side
    samples, far = draw(df, 10**6), stats.t(df).isf(1e-4)
    for tail in (samples > far, samples < -far):
        assert abs(tail.sum() - 100) < 4 * 10


def test_mean_is_zero():
    # the law is symmetric, so the median of block means is unbiased with this standard error
    means = draw(1.5, 2**20).reshape(1024, -1).mean(axis=1)
    error = 1.2533 * stats.median_abs_deviation(means, scale="normal") / 32
    assert abs(np.median(means)) < 4 * error < 0.1


@pytest.mark.parametrize(("p", "printed"), [(1.1, 2.572), (1.25, 4.209)])
def test_moments_of_the_study(p: float, printed: float):
    assert StudentT(1.5).moment(p) == pytest.approx(printed, abs=6e-4)


@pytest.mark.parametrize(("df", "p"), [(1.5, 0.5), (3.0, 2.0), (3.0, 2.5), (8.0, 4.0)])
def test_moments_match_quadrature(df: float, p: float):
    density = stats.t(df).pdf
    quadrature = 2 * integrate.quad(lambda x: x**p * density(x), 0, math.inf, limit=200)[0]
    assert StudentT(df).moment(p) == pytest.approx(quadrature, rel=1e-6)


@pytest.mark.parametrize("df", [1.0, 0.5, -1.0, math.nan])
def test_refuses_a_law_without_a_mean(df: float):
    with pytest.raises(
        InvalidInput, match=r"df: got .*, need a number in \(1, ∞\); .*mean does not exist"
    ):
        StudentT(df)


def test_infinite_df_points_to_the_gaussian():
    with pytest.raises(InvalidInput, match="use Gaussian"):
        StudentT(math.inf)
