import math

import pytest
import torch
from torch import Tensor

import gossamer as gs
from gossamer.problems import Problem
from gossamer.theory import (
    admissible_p,
    estimate_distance,
    estimate_gap,
    estimate_sigma,
    estimate_sigma_from_samples,
    estimate_smoothness,
)


def forget(problem: Problem) -> Problem:
    """The same problem, its optimum and curvature unknown."""
    problem.smoothness = problem.minimum = problem.optimum = None
    return problem


def test_what_the_problem_knows_is_used():
    problem = gs.RobustRegression(num_nodes=4)
    assert estimate_smoothness(problem).value == problem.smoothness
    assert estimate_gap(problem).value == float(problem.loss(problem.start[None]))


def test_curvature_of_a_quadratic_is_found():
    problem = gs.Quadratic(5, 6, seed=3)
    exact = problem.smoothness
    found = estimate_smoothness(forget(problem))
    assert found.value == pytest.approx(exact, rel=1e-3)
    assert found.how == "largest curvature at the start: L may be larger elsewhere"


def test_curvature_of_the_regression_at_its_optimum():
    """ℓ'' = 1 at residual 0, so that the Hessian at w* is X_iᵀX_i/m_i."""
    problem = gs.RobustRegression(num_nodes=4)
    exact, optimum = problem.smoothness, problem.optimum
    assert optimum is not None
    far = estimate_smoothness(forget(problem)).value
    assert far < exact
    assert estimate_smoothness(problem, optimum[None]).value == pytest.approx(exact, rel=1e-5)
    both = estimate_smoothness(problem, torch.stack([problem.start, optimum]))
    assert both.value == pytest.approx(exact, rel=1e-5)
    assert both.how.startswith("largest curvature at 2 points:")


def test_unknown_minimum_is_bounded_by_zero():
    problem = forget(gs.RobustRegression(num_nodes=4))
    found = estimate_gap(problem)
    assert found.value == float(problem.loss(problem.start[None]))
    assert "f ≥ 0 is assumed" in found.how


@pytest.mark.parametrize("seed", [0, 3])
def test_distance_is_known_or_found_by_descent(seed: int):
    problem = gs.RobustRegression(num_nodes=4, seed=seed)
    assert problem.optimum is not None
    exact = float((problem.start - problem.optimum).norm())
    assert estimate_distance(problem).value == pytest.approx(exact, rel=1e-12)
    found = estimate_distance(forget(problem))
    assert "lower estimate" in found.how
    assert found.value == pytest.approx(exact, rel=0.01)


class Linear(Problem):
    """f_i(x) = x, which has no minimum."""

    def __init__(self) -> None:
        self.num_nodes, self.dim, self.start = 2, 1, torch.zeros(1).double()

    def local_loss(self, x: Tensor) -> Tensor:
        return x.sum(-1)

    def local_grad(self, x: Tensor) -> Tensor:
        return torch.ones_like(x)

    def describe(self) -> dict[str, str]:
        return {"name": "Linear"}


class Hyperbola(Linear):
    """f_i(x) = √(1 + (x − 30)²): nearly straight far from 30, so that 1/f'' is far too long."""

    def local_loss(self, x: Tensor) -> Tensor:
        return (1 + (x[..., 0] - 30) ** 2).sqrt()

    def local_grad(self, x: Tensor) -> Tensor:
        return (x - 30) / (1 + (x - 30) ** 2).sqrt()


def test_descent_halves_steps_that_are_too_long():
    assert 1 / estimate_smoothness(Hyperbola()).value > 20_000
    assert estimate_distance(Hyperbola()).value == pytest.approx(30, rel=1e-3)


def test_a_loss_that_is_not_positive_is_refused():
    with pytest.raises(gs.InvalidInput, match="a known minimum or f > 0"):
        estimate_gap(Linear())


@pytest.mark.parametrize(
    ("noise", "p"),
    [
        (gs.Gaussian(), 2.0),
        (gs.StudentT(df=3.0), 2.0),
        (gs.StudentT(df=2.0), 1.9),
        (gs.StudentT(df=1.5), 1.45),
        (gs.AlphaStable(tail_index=1.5), 1.45),
        (gs.AlphaStable(tail_index=2.0), 2.0),
        (gs.Pareto(tail_index=1.001), 1.0009),
        (gs.MultivariateT(df=1.5), 1.45),
        (gs.SubGaussianStable(tail_index=2.0), 2.0),
        (gs.StudentT(df=1.5).scaled(per_node=[1, 5]), 1.45),
        (gs.StudentT(df=1.5).growing(0.5), 1.45),
    ],
)
def test_admissible_p_has_a_finite_moment(noise: gs.Noise, p: float):
    assert admissible_p(noise) == pytest.approx(p)
    assert math.isfinite(noise.moment(admissible_p(noise)))


@pytest.mark.parametrize("p", [1.1, 1.5, 2.0])
@pytest.mark.parametrize("dim", [1, 3, 20])
def test_gaussian_sigma_is_exact(p: float, dim: int):
    draws = gs.Gaussian(2.0).sample((200_000, dim), generator=torch.Generator().manual_seed(0))
    sigma = estimate_sigma(gs.Gaussian(2.0), dim, p)
    assert sigma.how.startswith("exact")
    assert float((draws.norm(dim=1) ** p).mean() ** (1 / p)) == pytest.approx(sigma.value, rel=0.01)


def test_sigma_of_one_coordinate_and_of_p_two_is_exact():
    law = gs.StudentT(df=3.0)
    assert estimate_sigma(law, 1, 1.5).value == pytest.approx(law.moment(1.5) ** (1 / 1.5))
    assert estimate_sigma(law, 4, 2.0).value == pytest.approx(2 * math.sqrt(3))
    assert estimate_sigma(law, 4, 2.0).how.startswith("exact")


def test_sigma_of_heavy_vectors_is_an_upper_bound():
    law = gs.AlphaStable(tail_index=1.5)
    draws = law.sample((200_000, 8), generator=torch.Generator().manual_seed(0))
    sigma = estimate_sigma(law, 8, 1.2)
    measured = float((draws.norm(dim=1) ** 1.2).mean() ** (1 / 1.2))
    assert sigma.how.startswith("upper bound")
    assert measured < sigma.value < 2 * measured


@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("law", [gs.MultivariateT(4.0), gs.SubGaussianStable(2.0)], ids=str)
def test_sigma_of_isotropic_noise_is_exact(law: gs.Noise, dim: int):
    # ‖ξ‖^1.5 has a second moment: four standard errors
    sigma = estimate_sigma(law, dim, 1.5)
    powers = law.sample((200_000, dim), generator=torch.Generator().manual_seed(0)).norm(dim=1)
    powers = powers**1.5
    assert sigma.how == "exact"
    error = float(powers.std()) / math.sqrt(200_000)
    assert abs(float(powers.mean()) - sigma.value**1.5) < 4 * error


@pytest.mark.parametrize(
    "law", [gs.Gaussian(2.0), gs.StudentT(1.5), gs.MultivariateT(1.5)], ids=str
)
def test_sigma_is_that_of_the_loudest_node(law: gs.Noise):
    plain, scaled = estimate_sigma(law, 3, 1.4), law.scaled(per_node=[0, 0.5, 3, 1])
    found = estimate_sigma(scaled, 3, 1.4, num_nodes=4)
    assert found.value == pytest.approx(3 * plain.value, rel=1e-12)
    assert found.how == plain.how


def test_sigma_of_unequal_coordinates():
    b = [3.0, 4.0, 0.0]
    law = gs.StudentT(df=3.0).scaled(per_coordinate=b)
    assert estimate_sigma(law, 3, 2.0).value == pytest.approx(5 * math.sqrt(3), rel=1e-12)
    assert estimate_sigma(law, 3, 2.0).how == "exact"
    bound = (gs.StudentT(3.0).moment(1.5) * (3**1.5 + 4**1.5)) ** (1 / 1.5)
    assert estimate_sigma(law, 3, 1.5).value == pytest.approx(bound, rel=1e-12)


def test_sigma_refuses_noise_without_a_bound():
    with pytest.raises(gs.InvalidInput, match=r"noise: got .* grows with the gradient"):
        estimate_sigma(gs.StudentT(1.5).growing(0.5), 3, 1.4)
    with pytest.raises(gs.InvalidInput, match="per_node: got 2 scales"):
        estimate_sigma(gs.StudentT(1.5).scaled(per_node=[1, 2]), 3, 1.4, num_nodes=4)


def test_sigma_refuses_an_infinite_moment():
    with pytest.raises(gs.InvalidInput, match=r"p: got 1\.5, need .* below 1\.5; try 1\.45"):
        estimate_sigma(gs.StudentT(df=1.5), 3, 1.5)


def test_sigma_from_samples_is_centred():
    draws = gs.Gaussian(2.0).sample((50_000, 3), generator=torch.Generator().manual_seed(0))
    found = estimate_sigma_from_samples(draws + 100, 2.0)
    assert found.value == pytest.approx(2 * math.sqrt(3), rel=0.01)


def test_sigma_from_an_array_is_that_of_the_tensor():
    draws = gs.Gaussian().sample((100, 3), generator=torch.Generator().manual_seed(0))
    assert estimate_sigma_from_samples(draws.numpy(), 1.5) == (
        estimate_sigma_from_samples(draws, 1.5)
    )


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (torch.zeros(5), "shape"),
        (torch.zeros(1, 3), "shape"),
        (torch.tensor([[1.0], [math.nan]]), "1 non-finite value of 2"),
    ],
)
def test_samples_refused(samples: Tensor, message: str):
    with pytest.raises(gs.InvalidInput, match=message):
        estimate_sigma_from_samples(samples, 2.0)
