import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from gossamer.errors import InvalidInput
from gossamer.noise import Pareto


def draw(law: Pareto, size: int) -> np.ndarray:
    return law.sample((size,), generator=torch.Generator().manual_seed(0)).numpy()


@pytest.mark.parametrize("index", [1.1, 1.5, 4.0])
def test_samples_follow_the_centred_pareto_law(index: float):
    law = stats.pareto(index, loc=-index / (index - 1))
    assert stats.kstest(draw(Pareto(index), 20_000), law.cdf).pvalue > 1e-3


def test_far_tail_is_exact():
    far = stats.pareto(1.5, loc=-3).isf(1e-4)
    assert abs((draw(Pareto(1.5), 10**6) > far).sum() - 100) < 4 * 10


def test_mean_is_zero():
    law = Pareto(3.0)
    assert abs(draw(law, 10**6).mean()) < 4 * math.sqrt(law.moment(2) / 10**6)


@pytest.mark.parametrize("index", [2.5, 10.0, 1e4])
def test_second_moment_is_the_variance(index: float):
    assert Pareto(index).moment(2) == pytest.approx(stats.pareto(index).var(), rel=1e-11)


@pytest.mark.parametrize(("index", "p"), [(1.05, 0.5), (1.5, 1.1), (1.5, 1.25), (3.0, 2.5)])
def test_moments_match_quadrature(index: float, p: float):
    mean = index / (index - 1)

    def power(s: float) -> float:  # y = e^s, density a e^(−as)
        return abs(1 - mean * math.exp(-s)) ** p * index * math.exp((p - index) * s)

    cuts = [0, math.log(mean), math.log(mean) + 5, 300]
    quadrature = sum(integrate.quad(power, low, high, limit=500)[0] for low, high in pairwise(cuts))
    assert Pareto(index).moment(p) == pytest.approx(quadrature, rel=1e-7)


@pytest.mark.parametrize("index", [1.0, 0.3, -2.0, math.inf, math.nan])
def test_refuses_a_law_without_a_mean(index: float):
    with pytest.raises(
        InvalidInput, match=r"tail_index: got .*, need a number in \(1, ∞\); .*mean is inf"
    ):
        Pareto(index)
