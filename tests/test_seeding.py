"""One seed and a purpose name one stream."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gossamer.seeding import SeedGroups, stream, stream_seed

any_int = st.integers(-(2**200), 2**200)


@given(seed=any_int)
def test_every_integer_is_a_seed(seed: int):
    assert 0 <= stream_seed("noise", seed) < 2**63
    assert torch.equal(
        torch.rand(3, generator=stream("noise", seed)),
        torch.rand(3, generator=stream("noise", seed)),
    )


@given(a=any_int, b=any_int)
def test_streams_differ_with_seed_purpose_and_arity(a: int, b: int):
    seeds = [
        stream_seed("noise", a),
        stream_seed("data", a),
        stream_seed("noise", a, b),
        stream_seed("noise", a, b, 0),
    ]
    if a != b:
        seeds += [stream_seed("noise", b), stream_seed("noise", b, a)]
    assert len(set(seeds)) == len(seeds)


def test_streams_never_change():
    """Published numbers depend on these."""
    assert stream_seed("noise", 0) == 2780505767859535771
    assert stream_seed("noise", -1, 2**64) == 5920723581669444863


SEEDS = [[3], [3, 3], [0, 1, 0, 1], [0, 1, 0], [5, 5, -1, 2**80], [2, 1, 0, 2, 1, 0]]


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_run_is_mixed_by_the_matrix_of_its_seed(seeds: list[int]):
    groups, z = SeedGroups.of(seeds), normal(4, len(seeds), 3)
    matrices = normal(len(groups.distinct), 4, 4)
    mixed = groups.product(matrices, z)
    assert mixed.shape == z.shape
    for run, seed in enumerate(seeds):
        own = matrices[groups.distinct.index(seed)]
        torch.testing.assert_close(mixed[:, run], own @ z[:, run], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_a_row_is_scaled_by_the_factor_of_its_seed(seeds: list[int]):
    groups, z = SeedGroups.of(seeds), normal(4, len(seeds), 3)
    factors = normal(4, len(groups.distinct))
    scaled = groups.scale(z, factors)
    for run, seed in enumerate(seeds):
        own = factors[:, groups.distinct.index(seed), None]
        assert torch.equal(scaled[:, run], z[:, run] * own)


def test_runs_that_take_the_seeds_in_turn_are_noticed():
    in_turn = [SeedGroups.of(seeds).in_turn for seeds in SEEDS]
    assert in_turn == [True, True, True, False, False, True]
    assert SeedGroups.of([]).distinct == []
