"""SClip-EF-Network: smooth clipping with error feedback (Yu, Jakovetić and Kar, 2023)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix
from gossamer.algorithms.operators import ema, minus, smooth_clip


class SClipEFState(NamedTuple):
    """The local gradient estimator m."""

    m: Tensor


@dataclass(frozen=True)
class SClipEF(Algorithm[SClipEFState]):
    """DSGD along a running estimate of the gradient, updated by smoothly clipped differences.

    mᵗ⁺¹ = βₜ mᵗ + (1−βₜ) Ψₜ(gᵗ − mᵗ)                       m⁰ = 0
    xᵗ⁺¹ = W (xᵗ − αₜ mᵗ⁺¹)
    Ψₜ(z) = c/√(t+1) · z / √(z² + τ (t+1)^(3/5))            c = `scale`, τ = `clip`
    αₜ = α (t+1)^(−1/5), βₜ = β/√(t+1)                      α = `lr`, β = `momentum`

    Every coordinate is clipped separately. The theory needs symmetric noise, but it requires
    only the first absolute moment to be finite.

    Reference: Yu, Jakovetić and Kar, Smoothed gradient clipping and error feedback (2023).
    """

    label: ClassVar[str] = "SClip-EF"
    state_is_own: ClassVar[bool] = True

    lr: StepSize
    momentum: Fraction
    scale: Positive
    clip: Positive

    def init(self, x: Tensor) -> SClipEFState:
        """m⁰ = 0."""
        return SClipEFState(m=torch.zeros_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: SClipEFState, mix: Mix
    ) -> tuple[Tensor, SClipEFState]:
        """Update the estimate by the clipped difference, then descend along it and mix."""
        lr = self.lr * (t + 1) ** -0.2  # αₜ = α (t+1)^(−1/5)
        momentum = self.momentum * (t + 1) ** -0.5  # βₜ = β/√(t+1)
        scale, clip = self.scale * (t + 1) ** -0.5, self.clip * (t + 1) ** 0.6
        innovation = smooth_clip(grad - state.m, scale, clip)  # Ψₜ(gᵗ − mᵗ)
        m = ema(state.m, innovation, momentum)  # mᵗ⁺¹ = βₜ mᵗ + (1−βₜ) Ψₜ
        return mix.pull(minus(x, lr, m)), SClipEFState(m)  # xᵗ⁺¹ = W (xᵗ − αₜ mᵗ⁺¹)
