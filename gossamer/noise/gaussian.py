"""Gaussian noise, the light-tailed reference."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossamer.noise.coordinates import CoordinateNoise
from gossamer.noise.noise import NormMoment, draw_normal, set_scale


@dataclass(frozen=True)
class Gaussian(CoordinateNoise):
    r"""Gaussian noise \(N(0, \mathrm{std}^2)\): every moment is finite.

    $$E|X|^p = \mathrm{std}^p\, 2^{p/2}\, Γ\big(\tfrac{p+1}{2}\big) / \sqrt{π}$$

    The noise \(N(0, 3I)\) of the GT-NSGDm paper is `Gaussian(std=3**0.5)`. Gaussian noise is the
    only noise that is isotropic and has independent coordinates.

    >>> round(Gaussian(std=2.0).moment(2), 12)
    4.0
    """

    std: float = 1.0
    tail_index: float = field(default=math.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        set_scale(self, "std")

    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """Normal samples times `std`."""
        return self.std * draw_normal((size,), generator)

    def finite_moment(self, p: float) -> float:
        """E|X|^p for every p."""
        log_moment = p / 2 * math.log(2) + math.lgamma((p + 1) / 2) - math.lgamma(0.5)
        return self.std**p * math.exp(log_moment)

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        """Exact for p = 2 or if each node has one scale for all coordinates, else a bound."""
        value, how = standard_norm_moment(p, scales)
        return NormMoment(self.std**p * value, how)


def standard_norm_moment(p: float, scales: Tensor) -> NormMoment:
    r"""\(\max_i E\|b_i G\|^p\) for a standard normal G and p ≤ 2, b = `scales`, `(nodes, dim)`.

    Where each row has one scale, \(E\|bG\|^p = b^p 2^{p/2} Γ(\frac{d+p}{2}) / Γ(\frac d2)\);
    otherwise an upper bound, \((\sum_k b_k^2)^{p/2}\), exact at p = 2.

    >>> round(standard_norm_moment(2.0, torch.full((1, 4), 3.0)).value, 12)
    36.0
    """
    largest = float(torch.linalg.vector_norm(scales, dim=1).max()) ** p
    if p == 2:
        return NormMoment(largest, "exact")
    if not torch.equal(scales, scales[:, :1].expand_as(scales)):
        return NormMoment(largest, "upper bound, as E‖ξ‖^p ≤ (E‖ξ‖²)^(p/2) where ξ is Gaussian")
    dim = scales.shape[1]
    log_ratio = math.lgamma((dim + p) / 2) - math.lgamma(dim / 2) + p / 2 * math.log(2 / dim)
    return NormMoment(largest * math.exp(log_ratio), "exact")
