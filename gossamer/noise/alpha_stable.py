"""α-stable noise: the limit law of sums of heavy-tailed terms."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.interval import Interval
from gossamer.noise.coordinates import CoordinateNoise
from gossamer.noise.gaussian import Gaussian
from gossamer.noise.noise import Noise, draw_exponential, draw_uniform, set_scale, set_within

RIGHT_ANGLE = math.nextafter(math.pi / 2, 0)
"""The largest angle strictly below π/2: there cos V is still positive."""


@dataclass(frozen=True)
class AlphaStable(CoordinateNoise):
    r"""Stable noise \(S_1(α, β, σ)\) with mean 0: α = `tail_index`, β = `skewness`, σ = `scale`.

    It is drawn by the Chambers–Mallows–Stuck formula. With V uniform on (−π/2, π/2), W exponential,
    \(B = \arctan(β \tan\frac{πα}{2})\), \(A = αV + B\) and
    \(S = (1 + β^2 \tan^2\frac{πα}{2})^{1/2α}\),

    $$X = σS\, \frac{\sin A}{\cos V} \Big(\frac{\cos(V-A)}{W \cos V}\Big)^{(1-α)/α}, \qquad
      E|X|^p = \tfrac{2}{π} Γ(p) \sin\tfrac{πp}{2}\, Γ(1 - \tfrac{p}{α})
      \cos\tfrac{pB}{α}\, (σS)^p \quad (p < α).$$

    If β ≠ 0, the mean is zero only in the parameterization S₁ with location 0; in S₀ it is
    \(-σβ\tan\frac{πα}{2}\), e.g. +0.5σ for α = 1.5 and β = 0.5. For α = 2 the law is Gaussian with
    variance 2σ², whatever β is; then every `moment` is finite, although `tail_index` is 2.

    >>> round(AlphaStable(tail_index=1.5, skewness=0.5).moment(1.25), 3)
    3.017
    >>> round(AlphaStable(tail_index=2.0).moment(2), 12)
    2.0

    References: J. M. Chambers, C. L. Mallows and B. W. Stuck, "A method for simulating stable
    random variables", JASA 71 (1976); moments from G. Samorodnitsky and M. S. Taqqu, "Stable
    Non-Gaussian Random Processes" (1994), Property 1.2.17.
    """

    tail_index: float
    skewness: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        set_stable_index(self)
        set_within(self, "skewness", Interval(-1, 1, closed_low=True, closed_high=True))
        set_scale(self)

    @property
    def _shift(self) -> float:
        """B = arctan(β tan(πα/2)), the skewness as an angle."""
        return math.atan(self.skewness * math.tan(math.pi * self.tail_index / 2))

    @property
    def _stretch(self) -> float:
        """σS, where S = (cos B)^(−1/α) since 1 + tan² = 1/cos²."""
        return self.scale * math.cos(self._shift) ** (-1 / self.tail_index)

    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """X by the formula of Chambers, Mallows and Stuck."""
        V = RIGHT_ANGLE * (2 * draw_uniform(size, generator) - 1)
        W = draw_exponential(size, generator)
        A = self.tail_index * V + self._shift
        cos_V = torch.cos(V)
        # positive, but for rounding where V and A meet the edge of a totally skewed law
        cos_gap = torch.cos(V - A).clamp(min=torch.finfo(torch.float64).eps)
        exponent = (self.tail_index - 1) / self.tail_index
        power = torch.exp(exponent * torch.log(W * cos_V / cos_gap))
        return self._stretch * torch.sin(A) / cos_V * power

    def has_moment(self, p: float) -> bool:
        """Whether p < α; always true for α = 2, where the law is Gaussian."""
        return self.tail_index == 2 or super().has_moment(p)

    def finite_moment(self, p: float) -> float:
        """E|X|^p for p < α; for α = 2 that of the Gaussian with variance 2σ²."""
        if self.tail_index == 2:
            return Gaussian(math.sqrt(2) * self.scale).moment(p)
        return (
            2
            / math.pi
            * math.gamma(p)
            * math.sin(math.pi * p / 2)
            * math.gamma(1 - p / self.tail_index)
            * math.cos(p / self.tail_index * self._shift)
            * self._stretch**p
        )


def set_stable_index(law: Noise) -> None:
    """Make the tail index of a law a float; refused without a stable law of mean zero."""
    way_out = "at 1 or below the mean does not exist, above 2 no stable law does; try 1.5"
    set_within(law, "tail_index", Interval(1, 2, closed_high=True), way_out)
