"""Noise drawn ahead in blocks is the noise of the seed, in order."""

import gc
import weakref

import pytest
import torch

import gossamer as gs
from gossamer.seeding import stream
from gossamer.simulation.noise_stream import NoiseStream, block_steps

LAW = gs.AlphaStable(tail_index=1.5, skewness=0.5)


def normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


LAWS: list[gs.Noise] = [
    LAW,
    gs.MultivariateT(1.3),
    gs.SubGaussianStable(1.3),
    gs.SampledNoise(normal),
    gs.StudentT(1.5).scaled(per_node=[0, 1, 4]),
    gs.StudentT(1.5).scaled(per_coordinate=[1, 4]),
    gs.MultivariateT(1.5).growing(0.5),
    gs.MultivariateT(1.5).scaled(per_node=[0, 1, 4], per_coordinate=[1, 4]).growing(0.5, floor=0),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)


def noises(
    seeds: list[int], dtype: torch.dtype = torch.float64, steps: int = 70, law: gs.Noise = LAW
) -> torch.Tensor:
    source = NoiseStream(law, seeds, 3, 2, dtype, "cpu")
    return torch.stack([source.at(t) for t in range(steps)])


@every_law
def test_blocks_are_one_stream_per_seed(law: gs.Noise):
    drawn = noises([8, 5], law=law)
    assert drawn.shape == (70, 3, 2, 2)
    for place, seed in enumerate((8, 5)):
        generator = stream("noise", seed)
        expected = torch.cat([law.sample((32, 3, 2), generator=generator) for _ in range(3)])
        assert torch.equal(drawn[:, :, place], expected[:70])


@every_law
def test_a_seed_does_not_see_the_others(law: gs.Noise):
    alone, among = noises([5], law=law), noises([8, 5, 1], law=law)
    assert torch.equal(alone[:, :, 0], among[:, :, 1])


@every_law
@pytest.mark.parametrize("seeds", [[5], [5, 5], [8, 5], [8, 5, 8, 5], [8, 5, 5], [5, 8, 1, 1, 5]])
def test_each_run_gets_its_gradient_with_the_noise_of_its_seed(law: gs.Noise, seeds: list[int]):
    grads = torch.randn(3, len(seeds), 2, generator=torch.Generator().manual_seed(0)).double()
    source = NoiseStream(law, seeds, 3, 2, torch.float64, "cpu")
    noisy = source.add(grads, 0)
    for run, seed in enumerate(seeds):
        alone = NoiseStream(law, [seed], 3, 2, torch.float64, "cpu").add(grads[:, run : run + 1], 0)
        assert torch.equal(noisy[:, run : run + 1], alone)
        expected = law.apply(grads[:, run], noises([seed], law=law)[0, :, 0])
        assert torch.equal(alone[:, 0], expected)


def test_runs_that_leave_change_nothing_for_the_others():
    grads = torch.zeros(3, 4, 2).double()
    source = NoiseStream(LAW, [8, 5, 8, 1], 3, 2, torch.float64, "cpu")
    before = source.add(grads, 0)
    for left in ([3], [1, 2], [0, 2], [0, 1, 2, 3]):
        source.serve([[8, 5, 8, 1][run] for run in left])
        assert torch.equal(source.add(grads[:, left], 0), before[:, left])


@pytest.mark.parametrize("noise", LAWS[1:], ids=str)
def test_a_run_in_a_stack_is_the_run_alone(noise: gs.Noise):
    problem, network = gs.Quadratic(3, 2), gs.ring(3)
    grid = {"lr": [0.01, 0.1]}
    stacked = gs.sweep(gs.DSGD, grid, problem, network, noise=noise, steps=70, seeds=[7, 0, -3])
    alone = gs.simulate(gs.DSGD(0.1), problem, network, noise=noise, steps=70, seeds=0)
    torch.testing.assert_close(
        stacked.metrics["error"][:, 1, 1], alone.metrics["error"][:, 0], rtol=1e-12, atol=0
    )


def test_scales_of_other_nodes_are_refused():
    noise = gs.StudentT(1.5).scaled(per_node=[1, 2])
    with pytest.raises(gs.InvalidInput, match="per_node: got 2 scales for noise of shape"):
        gs.simulate(gs.DSGD(0.1), gs.Quadratic(3, 2), gs.ring(3), noise=noise, steps=5)


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


def test_its_memory_is_free_at_once():
    """Not when garbage is collected: beside large tensors that is hardly ever."""
    source = NoiseStream(LAW, [5], 3, 2, torch.float64, "cpu")
    drawn = weakref.ref(source.at(0))
    gc.disable()
    try:
        del source
        assert drawn() is None
    finally:
        gc.enable()
