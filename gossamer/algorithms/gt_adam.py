"""GT-Adam: Adam driven by a gradient tracker (Carnevale et al., 2022)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, Positive, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import ema


class GTAdamState(NamedTuple):
    """The tracker s, the last gradient, and Adam's two moments."""

    s: Tensor
    grad: Tensor
    m: Tensor
    v: Tensor


@dataclass(frozen=True)
class GTAdam(Algorithm[GTAdamState]):
    """Adam on the tracked gradient, with a capped second moment and without bias correction.

    sᵗ = W sᵗ⁻¹ + gᵗ − gᵗ⁻¹                                 s⁰ = g⁰
    mᵗ⁺¹ = β₁ mᵗ + (1−β₁) sᵗ                                β₁ = `beta1`, m⁰ = 0
    vᵗ⁺¹ = min(β₂ vᵗ + (1−β₂) sᵗ ⊙ sᵗ, G)                   β₂ = `beta2`, G = `cap`, v⁰ = 0
    xᵗ⁺¹ = W xᵗ − α mᵗ⁺¹ / √(vᵗ⁺¹ + ε)                      α = `lr`, ε = `eps`

    The tracker is updated first, with the gradient at the current point, so that a step needs
    one gradient only.

    Reference: Carnevale, Farina, Notarnicola and Notarstefano, GTAdam (2022).
    """

    label: ClassVar[str] = "GT-Adam"
    tracker: ClassVar[str | None] = "s"

    lr: StepSize
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    cap: Positive = 1.0
    eps: Positive = 1e-8

    def init(self, x: Tensor) -> GTAdamState:
        """Tracker, last gradient and moments are 0, so that s⁰ = g⁰."""
        return GTAdamState(total_like(x), *(torch.zeros_like(x) for _ in range(3)))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTAdamState, mix: Mix
    ) -> tuple[Tensor, GTAdamState]:
        """Track, update the moments, then mix and descend."""
        s = (mix.push(state.s) + grad).sub_(state.grad)  # sᵗ = W sᵗ⁻¹ + gᵗ − gᵗ⁻¹
        g = s.to(x)
        m = ema(state.m, g, self.beta1)  # mᵗ⁺¹ = β₁ mᵗ + (1−β₁) sᵗ
        v = ema(state.v, g * g, self.beta2).clamp(max=self.cap)  # vᵗ⁺¹ = min(…, G)
        x = mix.pull(x) - self.lr * m / torch.sqrt(v + self.eps)  # xᵗ⁺¹ = W xᵗ − α m/√(v + ε)
        return x, GTAdamState(s, grad, m, v)

    def info(self, t: int, x: Tensor, grad: Tensor, state: GTAdamState) -> dict[str, Tensor]:
        """`tracker_norm` is ‖sᵗ⁻¹‖, and `capped` is the share of coordinates with vᵗ = G."""
        capped = (state.v >= self.cap).to(x.dtype).mean(-1)
        return {"tracker_norm": torch.linalg.vector_norm(state.s, dim=-1), "capped": capped}
