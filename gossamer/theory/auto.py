"""Choosing the momentum from data: noise samples → tail index → β."""

from typing import TYPE_CHECKING, NamedTuple

from gossamer.theory.rules import momentum_rule

if TYPE_CHECKING:
    from gossamer.tails import Diagnosis
    from gossamer.tails.samples import Samples


class MomentumChoice(NamedTuple):
    """The result of `momentum_from_noise`: the momentum, and the estimates behind it."""

    momentum: float
    """β = 1 − T^(−p/(3p−2))."""

    p: float
    """The order of the noise's finite moment, as the samples suggest it."""

    diagnosis: "Diagnosis"
    """All estimates of the tail, and where they disagree; print it."""


def momentum_from_noise(samples: "Samples", steps: int) -> MomentumChoice:
    """The momentum of Theorem 1 with p estimated from gradient noise.

    Args:
        samples: noise vectors `(samples, dim)` (stochastic minus full gradient) or their norms
            `(samples,)`. They must be independent, and should be 10,000 or more: p is a lower bound
            with 95 % confidence, and falls to 1.05 if the samples say little.
        steps: T, the length of the run that the momentum is for.

    >>> import torch, gossamer as gs
    >>> generator = torch.Generator().manual_seed(0)
    >>> noise = gs.AlphaStable(tail_index=1.5).sample((20_000, 4), generator=generator)
    >>> choice = momentum_from_noise(noise, steps=10_000)
    >>> 1.3 < choice.p < 1.5, 0.996 < choice.momentum < 0.998
    (True, True)
    """
    from gossamer.tails import diagnose

    diagnosis = diagnose(samples)
    p = diagnosis.suggested_p
    return MomentumChoice(momentum_rule(steps, p), p, diagnosis)
