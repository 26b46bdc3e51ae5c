"""Multivariate Student-t noise: isotropic, with power tails of index df."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossamer.noise.isotropic import IsotropicNoise
from gossamer.noise.noise import draw_normal, draw_uniform, set_scale
from gossamer.noise.student_t import set_df


@dataclass(frozen=True)
class MultivariateT(IsotropicNoise):
    r"""Multivariate Student-t noise: a normal vector divided by one random number.

    With ν = `df`, G standard normal and R the random factor of G,

    $$ξ = \mathrm{scale} \cdot G \sqrt{ν / χ^2_ν}, \qquad
      E R^p = \mathrm{scale}^p \Big(\frac ν2\Big)^{p/2}\,
      \frac{Γ(\frac{ν-p}{2})}{Γ(\frac{ν}{2})} \quad (p < ν).$$

    Every coordinate has the law `StudentT(df, scale)`, but all of them are large together. χ²_ν
    is drawn as twice a gamma variate of shape ν/2, by the method of Marsaglia and Tsang.

    >>> round(MultivariateT(df=1.5).moment(1.1), 3), MultivariateT(df=1.5).moment(1.5)
    (2.572, inf)

    Reference: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26 (2000).
    """

    df: float
    scale: float = 1.0
    tail_index: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_df(self)
        set_scale(self)
        object.__setattr__(self, "tail_index", self.df)

    def draw_radius(self, size: int, generator: torch.Generator) -> Tensor:
        """Samples of R = scale √(ν/χ²_ν)."""
        gamma = draw_gamma(self.df / 2, size, generator)
        return self.scale * torch.sqrt(self.df / 2 / gamma)

    def radius_moment(self, p: float) -> float:
        """E R^p for p < ν."""
        half = self.df / 2
        log_ratio = p / 2 * math.log(half) + math.lgamma(half - p / 2) - math.lgamma(half)
        return self.scale**p * math.exp(log_ratio)


def draw_gamma(shape: float, size: int, generator: torch.Generator) -> Tensor:
    r"""Gamma variates of a `shape` a in float64: one of shape a + 1 times \(U^{1/a}\).

    With \(d = a + \frac23\), \(v = (1 + z/\sqrt{9d})^3\) and z normal, dv is accepted with
    probability \(v^d e^{z^2/2 + d - dv}\) where v > 0, which is above 0.95.
    """
    kept = torch.empty(0, dtype=torch.float64, device=generator.device)
    while len(kept) < size:
        kept = torch.cat([kept, _accepted(shape + 2 / 3, size + size // 8 + 16, generator)])
    return kept[:size] * (1 - draw_uniform(size, generator)) ** (1 / shape)


def _accepted(d: float, proposals: int, generator: torch.Generator) -> Tensor:
    """The dv that are accepted, in order."""
    z = draw_normal((proposals,), generator)
    v = (1 + z / math.sqrt(9 * d)) ** 3
    log_chance = z.square() / 2 + d * (1 - v + torch.log(v))  # no number where v < 0: not accepted
    return d * v[torch.log1p(-draw_uniform(proposals, generator)) < log_chance]
