"""Student-t noise: symmetric, with power tails of index df."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gossamer.interval import Interval
from gossamer.noise.coordinates import CoordinateNoise
from gossamer.noise.noise import Noise, draw_exponential, draw_uniform, set_scale, set_within


@dataclass(frozen=True)
class StudentT(CoordinateNoise):
    r"""Student-t noise with `df` degrees of freedom ν, times `scale`: \(P(|X| > x) \sim x^{-ν}\).

    It is drawn by Bailey's polar method, a Box–Muller transform for the t law that is exact in the
    tails. With U uniform on [0, 1), E exponential and `scale` = 1,

    $$X = \cos(2πU) \sqrt{ν (e^{2E/ν} - 1)},
      \qquad E|X|^p = ν^{p/2}\,
      \frac{Γ(\frac{p+1}{2})\, Γ(\frac{ν-p}{2})}{\sqrt{π}\, Γ(\frac{ν}{2})} \quad (p < ν).$$

    Bailey draws points in a square and rejects those outside the unit disk. The angle and the
    squared radius of the points that remain are independent and uniform, so we draw them directly.

    >>> generator = torch.Generator().manual_seed(0)
    >>> bool(StudentT(df=1.5).sample((100_000,), generator=generator).abs().max() > 1000)
    True

    Reference: R. W. Bailey, "Polar generation of random variates with the t-distribution",
    Mathematics of Computation 62 (1994).
    """

    df: float
    scale: float = 1.0
    tail_index: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_df(self)
        set_scale(self)
        object.__setattr__(self, "tail_index", self.df)

    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """X by Bailey's formula."""
        angle = 2 * math.pi * draw_uniform(size, generator)
        exponential = draw_exponential(size, generator)
        radius = torch.sqrt(self.df * torch.expm1(2 / self.df * exponential))
        return self.scale * torch.cos(angle) * radius

    def finite_moment(self, p: float) -> float:
        """E|X|^p for p < ν."""
        log_moment = (
            p / 2 * math.log(self.df)
            + math.lgamma((p + 1) / 2)
            + math.lgamma((self.df - p) / 2)
            - math.lgamma(0.5)
            - math.lgamma(self.df / 2)
        )
        return self.scale**p * math.exp(log_moment)


def set_df(law: Noise) -> None:
    """Make the degrees of freedom of a law a float; refused without a t law of mean zero."""
    way_out = "at 1 or below the mean does not exist, for df = ∞ use Gaussian; try 1.5"
    set_within(law, "df", Interval(1, math.inf), way_out)
