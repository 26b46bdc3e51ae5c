"""The far quantile: its interval, and what a Gaussian has."""

import math

import numpy as np
import pytest
import torch

from gossamer.studies.language.far_quantile import FarQuantile, length, shape


def test_the_interval_of_the_far_quantile_covers_it():
    """95 %, and of 400 samples at least 92 %: nearly three standard errors below."""
    exact = math.sqrt(2) * float(torch.special.erfinv(torch.tensor(0.998, dtype=torch.float64)))
    draws = np.random.default_rng(0).standard_normal((400, 9000))
    inside = [far.low <= exact <= far.high for far in map(FarQuantile.of, draws)]
    assert np.mean(inside) >= 0.92


def test_length_and_shape_of_a_gaussian():
    norms = 20 + 3 * np.random.default_rng(0).standard_normal(100_000)
    for far, exact in ((length(norms), 1 + 3.0902 * 3 / 20), (shape(norms), 3.0902 / 0.67449)):
        assert far.low < exact < far.high
    moved = shape(5 * norms + 100)
    assert moved == pytest.approx(shape(norms))


def test_a_small_sample_does_not_bound_its_far_quantile():
    far = length(np.arange(1.0, 400.0))
    assert math.isinf(far.high)
    assert str(far) == "1.993 (above 1.99)"
