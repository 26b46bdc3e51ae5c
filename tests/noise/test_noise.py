"""What every law keeps: shape, dtype, device, reproducibility, finiteness, refusals."""

import math
from dataclasses import fields, replace

import pytest
import torch

from gossamer.errors import InvalidInput
from gossamer.noise import (
    NOISES,
    AlphaStable,
    Gaussian,
    MultivariateT,
    Noise,
    Pareto,
    StudentT,
    SubGaussianStable,
    from_description,
)
from gossamer.noise.noise import CPU_BLOCK

LAWS = [
    Gaussian(),
    StudentT(df=1.5),
    StudentT(df=1.001),
    AlphaStable(tail_index=1.5, skewness=0.5),
    AlphaStable(tail_index=1.5, skewness=-1.0),
    AlphaStable(tail_index=1.001, skewness=1.0),
    AlphaStable(tail_index=2.0),
    Pareto(tail_index=1.5),
    Pareto(tail_index=1.001),
    MultivariateT(df=1.5),
    MultivariateT(df=1.001),
    SubGaussianStable(tail_index=1.5),
    SubGaussianStable(tail_index=1.001),
    SubGaussianStable(tail_index=2.0),
]
ONE_OF_EACH = [next(law for law in LAWS if type(law) is kind) for kind in NOISES.values()]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def scaled(law: Noise, factor: float) -> Noise:
    return replace(law, **{"std" if isinstance(law, Gaussian) else "scale": factor})


def test_every_law_is_listed_by_its_name():
    assert {type(law).__name__ for law in LAWS} == set(NOISES)
    assert all(NOISES[type(law).__name__] is type(law) for law in LAWS)


@every_law
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4), (CPU_BLOCK + 1,)])
def test_shape(law: Noise, shape: tuple[int, ...]):
    assert law.sample(shape, generator=seeded()).shape == shape


@every_law
def test_same_seed_same_bits_and_the_stream_moves_on(law: Noise):
    generator = seeded(1)
    first, second = (law.sample((5, 7), generator=generator) for _ in range(2))
    assert torch.equal(first, law.sample((5, 7), generator=seeded(1)))
    assert not torch.isin(second, first).any()
    assert not torch.isin(law.sample((5, 7), generator=seeded(2)), first).any()


@every_law
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_drawn_in_float64_then_cast(law: Noise, dtype: torch.dtype):
    double = law.sample((1000,), generator=seeded())
    assert double.dtype == torch.float64
    assert torch.equal(law.sample((1000,), generator=seeded(), dtype=dtype), double.to(dtype))


@every_law
def test_a_million_draws_are_finite_and_distinct(law: Noise):
    samples = law.sample((10**6, 1), generator=seeded(), dtype=torch.float64)
    assert torch.isfinite(samples).all()
    assert samples.unique().numel() > 0.999 * samples.numel()


@every_law
def test_scale_multiplies_the_same_draws(law: Noise):
    samples, unit = (x.sample((1000,), generator=seeded()) for x in (scaled(law, 0.1), law))
    torch.testing.assert_close(samples, 0.1 * unit, rtol=1e-12, atol=0)
    assert scaled(law, 0.1).moment(0.9) == pytest.approx(0.1**0.9 * law.moment(0.9), rel=1e-12)


@every_law
def test_moments_are_finite_exactly_below_the_tail_index(law: Noise):
    top = math.inf if law.tail_index == 2 else law.tail_index  # stable of index 2 is Gaussian
    for p in (0.01, 0.5, 1.0, 1.0005, 1.2, 1.4999, 1.5, 1.9, 2.0, 3.0):
        assert math.isfinite(law.moment(p)) == law.has_moment(p) == (p < top), p
        assert law.moment(p) > 0


@every_law
def test_moment_norms_grow_with_the_order(law: Noise):
    orders = [p for p in (0.1, 0.5, 0.9, 1.0, 1.0005, 1.3, 1.49) if p < law.tail_index]
    norms = [law.moment(p) ** (1 / p) for p in orders]
    assert norms == sorted(norms)


@every_law
def test_low_moment_matches_the_samples(law: Noise):
    # |X|^0.25 has variance E|X|^0.5 − (E|X|^0.25)², so the band is four standard errors.
    n = 400_000
    measured = law.sample((n, 1), generator=seeded(3)).abs().pow(0.25).mean().item()
    error = math.sqrt((law.moment(0.5) - law.moment(0.25) ** 2) / n)
    assert abs(measured - law.moment(0.25)) < 4 * error


@every_law
@pytest.mark.parametrize("p", [0.0, -1.0, math.inf, math.nan])
def test_moment_refuses_orders_that_are_not_positive(law: Noise, p: float):
    with pytest.raises(InvalidInput, match=r"p: got .*, need a number in \(0, ∞\)"):
        law.moment(p)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("law", ONE_OF_EACH, ids=str)
def test_scale_must_be_finite_and_positive(law: Noise, scale: float):
    with pytest.raises(InvalidInput, match=r"need a number in \(0, ∞\); a run without noise"):
        scaled(law, scale)


@pytest.mark.parametrize("value", ["a", "1.5", None, True, [1.5], torch.tensor(1.5), 1.5j])
@pytest.mark.parametrize("law", ONE_OF_EACH, ids=str)
def test_what_is_no_number_is_refused(law: Noise, value: object):
    for field in fields(law):
        if field.init:
            with pytest.raises(InvalidInput, match=rf"{field.name}: got .*, need a number"):
                replace(law, **{field.name: value})


@every_law
def test_a_law_is_built_again_from_its_description(law: Noise):
    assert law.describe() == {"name": repr(law)}
    assert from_description(law.describe()) == law


@pytest.mark.parametrize("description", ["StudentT(1.5)", {}, {"name": 3}, None])
def test_what_describes_nothing_is_refused(description: object):
    with pytest.raises(InvalidInput, match=r"need what noise\.describe\(\) returns"):
        from_description(description)


def test_no_noise_is_none_not_zero():
    with pytest.raises(InvalidInput, match="noise=None"):
        Gaussian(std=0.0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@every_law
def test_samples_on_the_generators_device(law: Noise):
    generator = torch.Generator("cuda").manual_seed(0)
    samples = law.sample((400_000, 1), generator=generator)
    assert samples.device.type == "cuda"
    error = math.sqrt((law.moment(0.5) - law.moment(0.25) ** 2) / 400_000)
    assert abs(samples.abs().pow(0.25).mean().item() - law.moment(0.25)) < 4 * error
