"""Isotropic α-stable noise: the limit law of sums of isotropic heavy-tailed vectors."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.noise.alpha_stable import set_stable_index
from gossamer.noise.isotropic import IsotropicNoise
from gossamer.noise.noise import draw_exponential, draw_uniform, set_scale


@dataclass(frozen=True)
class SubGaussianStable(IsotropicNoise):
    r"""Isotropic stable noise: a normal vector times the root of a positive stable number.

    The noise is ξ = R G with G standard normal and \(R = \mathrm{scale} \sqrt{2A}\), where A > 0 is
    stable with \(E e^{-sA} = e^{-s^{α/2}}\) and α = `tail_index`. Its characteristic function is
    \(E e^{iu \cdot ξ} = e^{-(\mathrm{scale} \|u\|)^α}\), and

    $$E R^p = \mathrm{scale}^p\, 2^{p/2}\, \frac{Γ(1 - \frac pα)}{Γ(1 - \frac p2)} \quad (p < α).$$

    Every coordinate has the law `AlphaStable(tail_index, 0, scale)`, but all of them are large
    together. With a = α/2, U uniform on (0, π) and W exponential, A is drawn by Kanter's formula,

    $$A = \frac{\sin aU}{(\sin U)^{1/a}} \Big(\frac{\sin (1-a)U}{W}\Big)^{(1-a)/a}.$$

    >>> round(SubGaussianStable(tail_index=1.5).moment(1.25), 3)
    2.967

    References: M. Kanter, "Stable densities under change of scale and total variation
    inequalities", Annals of Probability 3 (1975); G. Samorodnitsky and M. S. Taqqu, "Stable
    Non-Gaussian Random Processes" (1994), section 2.5.
    """

    tail_index: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        set_stable_index(self)
        set_scale(self)

    def draw_radius(self, size: int, generator: torch.Generator) -> Tensor:
        """Samples of R = scale √(2A), by Kanter's formula."""
        a = self.tail_index / 2
        U = math.pi * (1 - draw_uniform(size, generator))
        W = draw_exponential(size, generator).clamp(min=2**-53)
        power = (torch.sin((1 - a) * U) / W) ** ((1 - a) / a)
        A = torch.sin(a * U) / torch.sin(U) ** (1 / a) * power
        return self.scale * torch.sqrt(2 * A)

    def has_moment(self, p: float) -> bool:
        """Whether p < α; always true for α = 2, where the law is Gaussian."""
        return self.tail_index == 2 or super().has_moment(p)

    def radius_moment(self, p: float) -> float:
        """E R^p for p < α, and for every p if α = 2."""
        if self.tail_index == 2:
            return (math.sqrt(2) * self.scale) ** p
        log_ratio = math.lgamma(1 - p / self.tail_index) - math.lgamma(1 - p / 2)
        return (math.sqrt(2) * self.scale) ** p * math.exp(log_ratio)
