"""Which messages are lost: as many as said, in bursts as long as said, whoever asks."""

import itertools
import math

import pytest
import torch

from gossamer.networks import losses as module
from gossamer.networks.losses import Losses

LINKS, SEEDS = torch.arange(40) * 7, [0, 1, -5, 2**80]
ROUNDS = 2000


def drawn(probability: float, burst: float | None, rounds: int = ROUNDS) -> torch.Tensor:
    """Which messages are lost, `(rounds, seeds, links)`."""
    refresh = 1.0 if burst is None else 1 / (burst * (1 - probability))
    losses = Losses(probability, refresh, SEEDS, LINKS)
    return torch.stack([~losses.arrive(t) for t in range(rounds)])


CASES = list(itertools.product([0.05, 0.3, 0.6], [None, 4.0, 20.0]))


@pytest.mark.parametrize(("probability", "burst"), CASES)
def test_the_share_that_is_lost(probability: float, burst: float | None):
    """Rounds of a link have the correlation (1 − κ)^k, which widens the band."""
    lost = drawn(probability, burst)
    kappa = 1.0 if burst is None else 1 / (burst * (1 - probability))
    deviation = math.sqrt(probability * (1 - probability) * (2 - kappa) / kappa / lost.numel())
    assert abs(float(lost.double().mean()) - probability) < 4 * deviation


@pytest.mark.parametrize(("probability", "burst"), CASES)
def test_the_mean_length_of_a_burst(probability: float, burst: float | None):
    """Lengths are geometric, with mean b and standard deviation √(b² − b)."""
    lost = drawn(probability, burst)
    begins = lost[1:] & ~lost[:-1]
    length = 1 / (1 - probability) if burst is None else burst
    bursts = int(begins.sum())
    measured = float(lost[1:].sum()) / bursts
    edge = 1 + lost.shape[1] * lost.shape[2] * length / bursts / length  # bursts cut by the ends
    deviation = math.sqrt((length**2 - length) / bursts)
    assert abs(measured - length) < 4 * deviation + (edge - 1) * length


def test_links_and_seeds_are_independent():
    """Correlations of ±1 rows over T rounds are 1/√T, the largest of m pairs below √(2 ln m/T)."""
    lost = drawn(0.3, None).flatten(1).double()
    correlation = torch.corrcoef(lost.T).fill_diagonal_(0)
    pairs = correlation.numel() / 2
    assert correlation.abs().max() < 1.3 * math.sqrt(2 * math.log(pairs) / ROUNDS)


@pytest.mark.parametrize("burst", [None, 4.0, 500.0])
def test_a_round_is_the_same_in_whatever_order_it_is_asked_for(burst: float | None):
    in_order = drawn(0.3, burst, 200)
    refresh = 1.0 if burst is None else 1 / (burst * 0.7)
    for t in (199, 0, 64, 63, 130, 31, 32):
        alone = Losses(0.3, refresh, SEEDS[2:3], LINKS[5:9])
        assert torch.equal(~alone.arrive(t), in_order[t, 2:3, 5:9])
    anyhow = Losses(0.3, refresh, SEEDS, LINKS)
    for t in (150, 20, 190, 40, 3):
        assert torch.equal(~anyhow.arrive(t), in_order[t])


def test_a_far_round_of_long_bursts_is_found():
    """No history is kept, and none has to be walked through by recursion."""
    losses = Losses(0.1, 1e-4, [0], LINKS[:3])
    assert losses.arrive(100_000).shape == (1, 3)


def test_the_length_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    usual = drawn(0.3, 4.0, 100)
    monkeypatch.setattr(module, "BLOCK_ROUNDS", 7)
    assert torch.equal(drawn(0.3, 4.0, 100), usual)
