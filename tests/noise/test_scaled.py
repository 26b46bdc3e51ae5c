"""Scales per node and per coordinate: where they act, their moments, their names, refusals."""

import math

import numpy as np
import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.noise import (
    AlphaStable,
    Gaussian,
    MultivariateT,
    Noise,
    Pareto,
    SampledNoise,
    StudentT,
    SubGaussianStable,
    from_description,
)

NODES, COORDINATES = [0.0, 0.1, 1.0, 7.3], [2.0, 0.3, 0.0]
LAWS = [
    Gaussian(0.3),
    StudentT(1.5),
    AlphaStable(1.5, 0.5),
    Pareto(1.7),
    MultivariateT(1.3),
    SubGaussianStable(1.3),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@every_law
@pytest.mark.parametrize("shape", [(4, 3), (5, 4, 3), (2, 5, 4, 3)])
def test_the_same_draws_times_the_scales(law: Noise, shape: tuple[int, ...]):
    plain = law.sample(shape, generator=seeded())
    nodes = torch.tensor(NODES, dtype=torch.float64)[:, None]
    coordinates = torch.tensor(COORDINATES, dtype=torch.float64)
    for scaled, b in [
        (law.scaled(per_node=NODES), nodes),
        (law.scaled(per_coordinate=COORDINATES), coordinates),
        (law.scaled(per_node=NODES, per_coordinate=COORDINATES), nodes * coordinates),
        (law.scaled(per_coordinate=COORDINATES).scaled(per_node=NODES), nodes * coordinates),
        (law.growing(2.0).scaled(per_node=NODES), nodes),
    ]:
        sample = scaled.sample(shape, generator=seeded())
        torch.testing.assert_close(sample, b * plain, rtol=1e-14, atol=0)
        assert scaled.sample(shape, generator=seeded(), dtype=torch.float32).dtype == torch.float32


def test_a_vector_alone_has_coordinates_but_no_nodes():
    law = Gaussian().scaled(per_coordinate=COORDINATES)
    assert law.sample((3,), generator=seeded()).shape == (3,)
    with pytest.raises(InvalidInput, match="per_node: got 4 scales for noise of shape \\(4,\\)"):
        Gaussian().scaled(per_node=NODES).sample((4,), generator=seeded())


@every_law
def test_the_moment_is_that_of_the_loudest_coordinate(law: Noise):
    scaled = law.scaled(per_node=NODES, per_coordinate=COORDINATES)
    assert scaled.moment(1.2) == pytest.approx((2 * 7.3) ** 1.2 * law.moment(1.2), rel=1e-12)
    assert scaled.tail_index == law.tail_index
    assert scaled.moment(5) == (math.inf if law.tail_index < 5 else pytest.approx(scaled.moment(5)))


@every_law
def test_norm_moments_multiply_through_chains(law: Noise):
    ones = torch.ones(4, 3).double()
    together = law.scaled(per_node=NODES, per_coordinate=COORDINATES)
    chained = law.scaled(per_coordinate=COORDINATES).scaled(per_node=NODES)
    one_scale = law.scaled(per_node=NODES)
    assert together.norm_moment(1.2, ones) == chained.norm_moment(1.2, ones)
    loudest, how = law.norm_moment(1.2, 7.3 * ones)
    assert one_scale.norm_moment(1.2, ones) == (pytest.approx(loudest, rel=1e-12), how)


@pytest.mark.parametrize("law", [Gaussian(), StudentT(3.0), MultivariateT(3.0)], ids=str)
@pytest.mark.parametrize("p", [1.0, 1.4])
def test_norm_moments_bound_the_samples(law: Noise, p: float):
    # 2p < 3, so ‖ξ‖^p has a variance: at most its second moment
    b, n = torch.tensor([COORDINATES], dtype=torch.float64), 200_000
    scaled = law.scaled(per_coordinate=COORDINATES)
    norms = scaled.sample((n, 3), generator=seeded()).norm(dim=1)
    error = math.sqrt(float(norms.pow(2 * p).mean()) / n)
    bound, how = law.norm_moment(p, b)
    assert how.startswith("upper bound")
    assert norms.pow(p).mean() < bound + 4 * error
    assert bound < 2 * norms.pow(p).mean()


@pytest.mark.parametrize(
    "values",
    [[1, 2, 3], (1.0, 2.0, 3.0), range(1, 4), torch.tensor([1, 2, 3]), np.array([1.0, 2.0, 3.0])],
    ids=lambda values: type(values).__name__,
)
def test_any_list_of_numbers_will_do(values: object):
    scaled = StudentT(1.5).scaled(per_node=values)
    assert scaled == StudentT(1.5).scaled(per_node=[1.0, 2.0, 3.0])
    assert repr(scaled) == "StudentT(df=1.5, scale=1.0).scaled(per_node=[1.0, 2.0, 3.0])"


@pytest.mark.parametrize(
    "noise",
    [
        Gaussian().scaled(per_node=[0.1 + 0.2, 1e-300]),
        StudentT(1.5).scaled(per_node=NODES, per_coordinate=torch.rand(1000, generator=seeded())),
        MultivariateT(1.3).scaled(per_coordinate=range(1, 30)).scaled(per_node=range(1, 40)),
        Pareto(1.5).scaled(per_node=NODES).growing(0.5).scaled(per_coordinate=range(1, 30)),
    ],
    ids=repr,
)
def test_it_is_built_again_from_its_description(noise: Noise):
    assert from_description(noise.describe()) == noise
    assert len(repr(noise)) < 200


def test_long_lists_are_named_by_their_fingerprint():
    one, same, other = (
        StudentT(1.5).scaled(per_coordinate=torch.linspace(1, top, 10_000).double())
        for top in (2.0, 2.0, 2.1)
    )
    assert repr(one) == repr(same) != repr(other)
    (name,) = one.describe()["data"]
    assert repr(one) == f"StudentT(df=1.5, scale=1.0).scaled(per_coordinate={name})"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, -1.0], r"got -1.0, need a number in \[0, ∞\)"),
        ([1.0, math.inf], "got inf, need a number"),
        ([1.0, math.nan], "got nan, need a number"),
        ([0.0, 0.0], r"got \[0\.0, 0\.0\], need one that is positive; no noise is noise=None"),
        ([], r"got \[\], need one that is positive"),
        (["a"], "got 'a', need a number"),
        ("ab", "got 'a', need a number"),
        ([[1.0], [2.0]], r"got \[1\.0\], need a number"),
        (torch.ones(2, 2), r"got \[1\.0, 1\.0\], need a number"),
        (2.0, r"got 2\.0, need a list of numbers"),
        (torch.tensor(2.0), r"got tensor\(2\.\), need a list of numbers"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["per_node", "per_coordinate"])
def test_what_cannot_be_scales_is_refused(name: str, values: object, words: str):
    with pytest.raises(InvalidInput, match=f"{name}: {words}"):
        StudentT(1.5).scaled(**{name: values})


def test_no_scales_are_refused():
    with pytest.raises(InvalidInput, match="scaled: got no scales, need per_node="):
        StudentT(1.5).scaled()


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (4, 3, 1)])
def test_another_number_of_nodes_or_coordinates_is_refused(shape: tuple[int, ...]):
    law = StudentT(1.5).scaled(per_node=NODES, per_coordinate=COORDINATES)
    with pytest.raises(InvalidInput, match=r"per_\w+: got \d scales for .* its \d \w+s"):
        law.sample(shape, generator=seeded())
    if len(shape) == 2:
        with pytest.raises(InvalidInput, match="scales for noise of shape"):
            law.norm_moment(1.2, torch.ones(shape))


def test_a_sampler_of_ones_own_can_be_scaled():
    def normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    law = SampledNoise(normal)
    sample = law.scaled(per_node=[0, 1, 2, 4]).sample((4, 3), generator=seeded())
    plain = law.sample((4, 3), generator=seeded())
    assert torch.equal(sample, torch.tensor([0.0, 1.0, 2.0, 4.0]).double()[:, None] * plain)
