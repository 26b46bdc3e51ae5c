"""Gaussian noise, the light-tailed reference."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossamer.noise.noise import Noise, require_positive


@dataclass(frozen=True)
class Gaussian(Noise):
    r"""Gaussian noise \(N(0, \mathrm{std}^2)\): every moment is finite.

    $$E|X|^p = \mathrm{std}^p\, 2^{p/2}\, Γ\big(\tfrac{p+1}{2}\big) / \sqrt{π}$$

    The paper's \(N(0, 3I)\) is `Gaussian(std=3**0.5)`.

    >>> round(Gaussian(std=2.0).moment(2), 12)
    4.0
    """

    std: float = 1.0
    tail_index: float = field(default=math.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        require_positive("std", self.std)

    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """Normal samples times `std`."""
        device = generator.device
        normal = torch.randn(size, generator=generator, dtype=torch.float64, device=device)
        return self.std * normal

    def finite_moment(self, p: float) -> float:
        """E|X|^p for every p."""
        log_moment = p / 2 * math.log(2) + math.lgamma((p + 1) / 2) - math.lgamma(0.5)
        return self.std**p * math.exp(log_moment)
