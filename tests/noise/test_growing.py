"""Noise that grows with the gradient."""

import math

import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.noise import Gaussian, MultivariateT, StudentT, from_description


def test_noise_is_multiplied_by_floor_plus_factor_times_the_norm():
    grad = torch.tensor([[[3.0, 4.0]], [[0.0, 0.0]]]).double()
    sample = torch.tensor([[[1.0, -2.0]], [[5.0, 1.0]]]).double()
    noisy = StudentT(1.5).growing(0.5, floor=2.0).apply(grad, sample)
    expected = torch.tensor([[[3 + 4.5, 4 - 9.0]], [[10.0, 2.0]]]).double()
    torch.testing.assert_close(noisy, expected, rtol=1e-14, atol=0)


def test_relative_noise_vanishes_with_the_gradient():
    noise, grad = Gaussian().growing(3.0, floor=0), torch.zeros(4, 1, 2)
    assert torch.equal(noise.apply(grad, torch.ones(4, 1, 2)), grad)


def test_growth_multiplies_in_chains_and_scales_commute():
    grad, sample = torch.full((2, 1, 4), 0.5).double(), torch.ones(2, 1, 4).double()
    law = StudentT(1.5)  # the norm of each gradient is 1
    twice = law.growing(1.0).growing(2.0).apply(grad, sample)
    torch.testing.assert_close(twice, grad + 6.0, rtol=1e-14, atol=0)
    scaled_after = law.growing(2.0).scaled(per_node=[1, 5]).apply(grad, sample)
    torch.testing.assert_close(scaled_after, grad + 3.0, rtol=1e-14, atol=0)


def test_samples_broadcast_over_runs():
    grad = torch.randn(3, 4, 2, 5, generator=torch.Generator().manual_seed(0)).double()
    sample = torch.ones(3, 1, 2, 5).double()
    noise = StudentT(1.5).growing(0.7)
    each = [noise.apply(grad[:, turn], sample[:, 0]) for turn in range(4)]
    assert torch.equal(noise.apply(grad, sample), torch.stack(each, dim=1))


def test_draws_tail_and_moments_are_those_of_the_law():
    law, noise = MultivariateT(1.4), MultivariateT(1.4).growing(0.1)
    first, second = (
        each.sample((3, 2), generator=torch.Generator().manual_seed(0)) for each in (law, noise)
    )
    assert torch.equal(first, second)
    assert noise.tail_index == 1.4
    assert (noise.moment(1.2), noise.moment(1.4)) == (law.moment(1.2), math.inf)


def test_no_bound_holds_everywhere():
    noise = StudentT(1.5).growing(0.5)
    for grown in (noise, noise.scaled(per_node=[1, 2])):
        with pytest.raises(InvalidInput, match=r"grows with the grad.*, need .* give p and sigma"):
            grown.norm_moment(1.2, torch.ones(2, 3))


def test_it_is_built_again_from_its_description():
    noise = StudentT(1.5).scaled(per_node=range(1, 30)).growing(0.5, floor=0)
    assert from_description(noise.describe()) == noise
    assert repr(StudentT(1.5).growing(2)).endswith(".growing(factor=2.0, floor=1.0)")


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan, "a", None])
def test_factor_must_be_positive(factor: object):
    with pytest.raises(InvalidInput, match="factor: got"):
        StudentT(1.5).growing(factor)


@pytest.mark.parametrize("floor", [-1.0, math.inf, math.nan, "a", None])
def test_floor_must_not_be_negative(floor: object):
    with pytest.raises(InvalidInput, match="floor: got"):
        StudentT(1.5).growing(1.0, floor)
