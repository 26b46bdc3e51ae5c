import pytest
import torch

import gossamer as gs
from gossamer.theory import momentum_from_noise, momentum_rule


@pytest.mark.parametrize(
    ("noise", "low", "high"),
    [
        (gs.Gaussian(), 1.9, 2.0),
        (gs.StudentT(df=1.5), 1.2, 1.5),
        (gs.AlphaStable(tail_index=1.5, skewness=0.5), 1.2, 1.5),
    ],
)
def test_momentum_follows_the_tail(noise: gs.Noise, low: float, high: float):
    samples = noise.sample((20_000, 4), generator=torch.Generator().manual_seed(0))
    choice = momentum_from_noise(samples, steps=10_000)
    assert low <= choice.p <= high
    assert choice.momentum == momentum_rule(10_000, choice.p)
    assert choice.diagnosis.suggested_p == choice.p
