import math

import pytest
import torch
from scipy import stats

from gossamer.noise import Gaussian


def test_samples_follow_the_normal_law():
    samples = Gaussian(std=3**0.5).sample((20_000,), generator=torch.Generator().manual_seed(0))
    assert stats.kstest(samples.numpy(), stats.norm(scale=3**0.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("p", "moment"), [(1, math.sqrt(2 / math.pi)), (2, 1), (4, 3), (6, 15)])
def test_moments(p: float, moment: float):
    assert Gaussian().moment(p) == pytest.approx(moment, rel=1e-12)
