"""Noise drawn ahead in blocks is the noise of the seed, in order."""

import pytest
import torch

import gossamer as gs
from gossamer.seeding import stream
from gossamer.simulation.noise_stream import NoiseStream, block_steps

LAW = gs.AlphaStable(tail_index=1.5, skewness=0.5)


def noises(seeds: list[int], dtype: torch.dtype = torch.float64, steps: int = 70) -> torch.Tensor:
    source = NoiseStream(LAW, seeds, 3, 2, dtype, "cpu")
    return torch.stack([source.at(t) for t in range(steps)])


def test_blocks_are_one_stream_per_seed():
    drawn = noises([8, 5])
    assert drawn.shape == (70, 3, 2, 2)
    for place, seed in enumerate((8, 5)):
        generator = stream("noise", seed)
        expected = torch.cat([LAW.sample((32, 3, 2), generator=generator) for _ in range(3)])
        assert torch.equal(drawn[:, :, place], expected[:70])


def test_a_seed_does_not_see_the_others():
    alone, among = noises([5]), noises([8, 5, 1])
    assert torch.equal(alone[:, :, 0], among[:, :, 1])


def test_a_step_may_be_asked_for_again_within_its_block():
    source = NoiseStream(LAW, [0], 3, 2, torch.float64, "cpu")
    first = source.at(33).clone()
    assert torch.equal(source.at(40), source.at(40))
    assert torch.equal(source.at(33), first)


def test_precision_is_a_cast():
    assert torch.equal(noises([0], torch.float32), noises([0]).float())


@pytest.mark.parametrize(("nodes", "dim"), [(1, 1), (20, 20), (10_000, 20), (20, 10**6)])
def test_blocks_stay_small(nodes: int, dim: int):
    steps = block_steps(nodes, dim)
    assert 1 <= steps <= 32
    assert steps == 1 or steps * nodes * dim <= 2**18
