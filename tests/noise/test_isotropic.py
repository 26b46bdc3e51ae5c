"""Isotropic laws: known coordinates, a known norm, no direction, one radius per vector."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from gossamer.noise import (
    AlphaStable,
    Gaussian,
    IsotropicNoise,
    MultivariateT,
    StudentT,
    SubGaussianStable,
)
from gossamer.noise.multivariate_t import draw_gamma
from gossamer.noise.noise import CPU_BLOCK

DIM, SIZE = 5, 100_000
LAWS = [
    MultivariateT(1.001),
    MultivariateT(1.5, scale=0.3),
    MultivariateT(8.0),
    SubGaussianStable(1.001),
    SubGaussianStable(1.5, scale=0.3),
    SubGaussianStable(1.95),
    SubGaussianStable(2.0),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def draw(law: IsotropicNoise, dim: int = DIM, size: int = SIZE, seed: int = 0) -> torch.Tensor:
    return law.sample((size, dim), generator=torch.Generator().manual_seed(seed))


def coordinate(law: IsotropicNoise) -> StudentT | AlphaStable:
    if isinstance(law, MultivariateT):
        return StudentT(law.df, law.scale)
    return AlphaStable(law.tail_index, 0.0, law.scale)


@every_law
def test_every_coordinate_has_the_law_of_numbers(law: IsotropicNoise):
    numbers = coordinate(law).sample((SIZE,), generator=torch.Generator().manual_seed(1))
    for column in draw(law).T:
        assert stats.ks_2samp(column.numpy(), numbers.numpy()).pvalue > 1e-3


@every_law
@pytest.mark.parametrize("p", [0.3, 1.0, 1.0005])
def test_moments_are_those_of_the_law_of_numbers(law: IsotropicNoise, p: float):
    assert law.moment(p) == pytest.approx(coordinate(law).moment(p), rel=1e-11)


@pytest.mark.parametrize("df", [1.001, 1.5, 8.0, 1e9])
def test_squared_norms_of_t_vectors_follow_the_f_law(df: float):
    norms = draw(MultivariateT(df), size=20_000).norm(dim=1).numpy()
    assert stats.kstest(norms**2 / DIM, stats.f(DIM, df).cdf).pvalue > 1e-3


@pytest.mark.parametrize("df", [1.5, 3.0])
def test_far_tail_of_the_norm_is_exact(df: float):
    # counts beyond the 1e-4 quantile are Poisson(100)
    norms = draw(MultivariateT(df), size=10**6).norm(dim=1).numpy()
    assert abs((norms**2 / DIM > stats.f(DIM, df).isf(1e-4)).sum() - 100) < 4 * 10


@pytest.mark.parametrize("index", [1.001, 1.2, 1.5, 1.95, 2.0])
def test_characteristic_function_of_stable_vectors(index: float):
    # cos(u·ξ) has mean e^(−‖u‖^α) =: φ(u) and variance (1 + φ(2u))/2 − φ(u)²
    vectors = draw(SubGaussianStable(index))
    directions = [[1.0, 0, 0, 0, 0], [0, 0, 0, 1.0, 0], [1.0, -1.0, 1.0, -1.0, 1.0]]
    for u in torch.tensor(directions).double():
        for size in (0.2, 1.0, 2.5):
            u = size * u / u.norm()
            phi, twice = math.exp(-(size**index)), math.exp(-((2 * size) ** index))
            error = math.sqrt(((1 + twice) / 2 - phi**2) / SIZE)
            assert abs(torch.cos(vectors @ u).mean().item() - phi) < 4 * error


def test_means_of_stable_vectors_have_the_same_law():
    law, m = SubGaussianStable(1.3), 64
    blocks = draw(law, size=4000 * m).view(-1, m, DIM).mean(dim=1) * m ** (1 - 1 / 1.3)
    again = draw(law, size=50_000, seed=1)
    assert stats.ks_2samp(blocks.norm(dim=1).numpy(), again.norm(dim=1).numpy()).pvalue > 1e-3


@every_law
def test_directions_are_uniform_and_independent_of_the_norm(law: IsotropicNoise):
    # u_k² has mean 1/d and variance 2(d−1)/(d²(d+2)), u_j u_k mean 0 and variance 1/(d(d+2))
    vectors = draw(law)
    norms = vectors.norm(dim=1)
    far = norms > norms.quantile(0.75)
    for some in (vectors[far], vectors[~far]):
        u = torch.nn.functional.normalize(some, dim=1)
        second = u.T @ u / len(u) - torch.eye(DIM).double() / DIM
        variance = torch.full((DIM, DIM), 1 / (DIM * (DIM + 2))).double()
        variance.fill_diagonal_(2 * (DIM - 1) / (DIM**2 * (DIM + 2)))
        assert (second.abs() < 4.5 * (variance / len(u)).sqrt()).all()
        assert (u.mean(0).abs() < 4.5 / math.sqrt(DIM * len(u))).all()


def test_a_large_vector_is_large_in_all_coordinates():
    # share of the largest coordinate in ‖ξ‖²: near 1 where each is drawn by itself
    def largest_share(law: StudentT | MultivariateT) -> float:
        vectors = law.sample((SIZE, 50), generator=torch.Generator().manual_seed(0))
        top = vectors[vectors.norm(dim=1).topk(100).indices]
        return float((top.square().amax(dim=1) / top.square().sum(dim=1)).median())

    assert largest_share(StudentT(1.5)) > 0.95
    assert largest_share(MultivariateT(1.5)) < 0.25


@every_law
@pytest.mark.parametrize("dim", [1, 3, 40])
def test_norm_moment_matches_the_samples(law: IsotropicNoise, dim: int):
    # ‖ξ‖^0.25 has variance E‖ξ‖^0.5 − (E‖ξ‖^0.25)²: four standard errors
    ones = torch.ones(1, dim).double()
    stated, second = (law.norm_moment(p, ones) for p in (0.25, 0.5))
    assert stated.how == "exact"
    measured = draw(law, dim).norm(dim=1).pow(0.25).mean().item()
    assert abs(measured - stated.value) < 4 * math.sqrt((second.value - stated.value**2) / SIZE)


@every_law
@pytest.mark.parametrize("p", [0.5, 1.0, 1.0005])
def test_norm_moment_in_one_dimension_is_the_moment(law: IsotropicNoise, p: float):
    one = torch.ones(1, 1).double()
    assert law.norm_moment(p, one).value == pytest.approx(law.moment(p), rel=1e-12)


def test_norm_moment_at_p_two_is_the_sum_of_variances():
    scales = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]).double()
    for law in (MultivariateT(5.0), SubGaussianStable(2.0, 0.3), Gaussian(1.7), StudentT(5.0)):
        value, how = law.norm_moment(2.0, scales)
        assert (value, how) == (pytest.approx(14 * law.moment(2), rel=1e-12), "exact")


def test_unequal_scales_give_an_upper_bound():
    law, b = MultivariateT(1.8), torch.tensor([[0.1, 1.0, 3.0]], dtype=torch.float64)
    value, how = law.norm_moment(0.8, b)
    assert how.startswith("upper bound")
    measured = (draw(law, 3) * b).norm(dim=1).pow(0.8).mean().item()
    assert measured < value + 4 * math.sqrt(law.norm_moment(1.6, b).value / SIZE)
    assert value == pytest.approx(law.radius_moment(0.8) * 10.01**0.4, rel=1e-12)


@pytest.mark.parametrize("dim", [1, 7, CPU_BLOCK - 1, CPU_BLOCK, CPU_BLOCK + 1])
def test_vectors_are_never_cut_by_a_block(dim: int):
    rows = max(3, 2 * CPU_BLOCK // dim)
    vectors = draw(MultivariateT(1.5), dim, rows)
    generator = torch.Generator().manual_seed(0)
    each = max(1, CPU_BLOCK // dim)
    blocks = [
        MultivariateT(1.5).sample((len(part), dim), generator=generator)
        for part in vectors.split(each)
    ]
    assert torch.equal(vectors, torch.cat(blocks))


def test_the_last_axis_is_the_vector():
    shape = (4, 3, 2000)
    xi = SubGaussianStable(1.2).sample(shape, generator=torch.Generator().manual_seed(0))
    # of 2,000 normal coordinates the root mean square is R up to 2 %: no two vectors share one
    radii = xi.square().mean(dim=-1).sqrt().flatten()
    assert radii.numel() == radii.unique().numel() == 12
    halves = xi.view(12, 2, 1000).square().mean(dim=-1).sqrt()
    assert (halves[:, 0] / halves[:, 1] - 1).abs().max() < 4 * math.sqrt(2 / 2000)
    assert (radii.max() / radii.min()) > 1.5


@pytest.mark.parametrize("shape", [0.5005, 0.75, 1.0, 4.0, 5e8])
def test_gamma_variates(shape: float):
    gamma = draw_gamma(shape, 20_000, torch.Generator().manual_seed(0)).numpy()
    assert stats.kstest(gamma, stats.gamma(shape).cdf).pvalue > 1e-3
    assert len(np.unique(gamma)) == 20_000


def test_few_gamma_variates_are_as_many_as_asked_for():
    for size in (0, 1, 2, 17):
        assert len(draw_gamma(0.6, size, torch.Generator().manual_seed(size))) == size


@pytest.mark.parametrize("df", [1.0, 0.5, math.inf, math.nan])
def test_refuses_a_t_law_without_a_mean(df: float):
    with pytest.raises(ValueError, match=r"df: got .*, need a number in \(1, ∞\)"):
        MultivariateT(df)


@pytest.mark.parametrize("index", [1.0, 2.5, math.nan])
def test_refuses_an_index_outside_one_to_two(index: float):
    with pytest.raises(ValueError, match=r"tail_index: got .* \(1, 2\]"):
        SubGaussianStable(index)
