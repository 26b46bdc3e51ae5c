"""Noise from a function: what it must return, and from where it must draw."""

import functools
import math
import random

import numpy as np
import pytest
import torch

import gossamer as gs
from gossamer.errors import InvalidInput
from gossamer.noise import SampledNoise


def normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_it_gives_what_the_function_gives_and_the_stream_moves_on():
    noise, generator, expected = SampledNoise(normal), seeded(), seeded()
    for shape in [(4, 3), (2, 4, 3), (1,)]:
        sample = noise.sample(shape, generator=generator, dtype=torch.float32)
        assert torch.equal(sample, normal(shape, expected).float())


def test_a_function_may_know_its_dimension():
    factor = torch.tensor([[1.0, 0.0], [0.9, 0.4]]).double()
    noise = SampledNoise(lambda shape, g: normal(shape, g) @ factor.T, name="correlated")
    xi = noise.sample((100_000, 2), generator=seeded())
    # products ξ₁ξ₂ have mean 0.9 and variance 0.97 + 0.81
    assert abs((xi[:, 0] * xi[:, 1]).mean() - 0.9) < 4 * math.sqrt(1.78 / 100_000)


@pytest.mark.parametrize(
    "wild",
    [
        lambda shape, generator: torch.randn(shape),
        lambda shape, generator: torch.from_numpy(np.random.standard_normal(shape)),
        lambda shape, generator: normal(shape, generator) * random.random(),
        functools.partial(
            lambda seen, shape, generator: seen.add_(1).repeat(shape), torch.zeros(1)
        ),
    ],
    ids=["torch", "numpy", "random", "state"],
)
def test_noise_that_is_not_the_generators_is_refused(wild: object):
    noise = SampledNoise(wild, name="wild")
    with pytest.raises(InvalidInput, match="wild: got different samples from equal generators"):
        noise.sample((2, 3), generator=seeded())


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (lambda shape, g: normal((*shape, 1), g), r"shape \(2, 3, 1\) on cpu, need a floating"),
        (lambda shape, g: normal(shape, g)[0], r"shape \(3,\)"),
        (lambda shape, g: torch.ones(shape, dtype=torch.int64), "torch.int64"),
        (lambda shape, g: torch.ones(shape, dtype=torch.complex64), "torch.complex64"),
        (lambda shape, g: np.zeros(shape), "ndarray"),
        (lambda shape, g: None, "NoneType"),
        (lambda shape, g: torch.zeros(shape, device="meta"), "on meta"),
    ],
)
def test_what_is_not_such_a_tensor_is_refused(wrong: object, found: str):
    with pytest.raises(InvalidInput, match=f"wrong: got .*{found}"):
        SampledNoise(wrong, name="wrong").sample((2, 3), generator=seeded())


def test_the_function_is_called_once_per_draw_after_the_first():
    calls = []

    def counted(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        calls.append(shape)
        return normal(shape, generator)

    noise = SampledNoise(counted)
    for _ in range(5):
        noise.sample((2, 3), generator=seeded())
    assert len(calls) == 2 + 5


def test_names():
    assert repr(SampledNoise(normal)) == "SampledNoise(normal)"
    assert SampledNoise(normal, name="N").describe() == {"name": "SampledNoise(N)"}
    for nameless in (lambda shape, g: normal(shape, g), functools.partial(normal)):
        with pytest.raises(InvalidInput, match=r"name: got <.*, need a name; .*name='Laplace'"):
            SampledNoise(nameless)


@pytest.mark.parametrize("function", [3, "normal", None, torch.ones(2)])
def test_what_is_no_function_is_refused(function: object):
    with pytest.raises(InvalidInput, match=r"function: got .* need a function of shape and gen"):
        SampledNoise(function)


@pytest.mark.parametrize("index", [1.0, 0.0, -1.0, "a"])
def test_noise_without_a_mean_is_refused(index: object):
    with pytest.raises(InvalidInput, match="tail_index: got"):
        SampledNoise(normal, tail_index=index)


def test_moments_are_not_known():
    noise = SampledNoise(normal, tail_index=1.5)
    assert (noise.has_moment(1.4), noise.has_moment(1.5), noise.moment(1.5)) == (
        True,
        False,
        math.inf,
    )
    with pytest.raises(InvalidInput, match=r"moments are not known, .* give sigma, or samples="):
        noise.moment(1.2)
    with pytest.raises(InvalidInput, match=r"tail_index: got none for SampledNoise\(normal\)"):
        SampledNoise(normal).moment(1.2)


def test_in_a_simulation():
    problem, network = gs.Quadratic(4, 3), gs.ring(4)
    runs = [
        gs.simulate(gs.DSGD(0.1), problem, network, noise=noise, steps=40, seeds=[3])
        for noise in (SampledNoise(normal), SampledNoise(normal, name="again"))
    ]
    assert torch.equal(runs[0].x, runs[1].x)
    assert "noise        SampledNoise(normal)" in str(runs[0])
