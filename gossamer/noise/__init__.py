"""Zero-mean gradient noise, light-tailed and heavy-tailed; `NOISES` lists the laws by name.

A *law* is a probability distribution. Its *tail index* is the supremum of the p for which the p-th
moment is finite.

| law | tail index | what it models |
|---|---|---|
| `Gaussian(std)` | ∞ | the light-tailed reference |
| `StudentT(df, scale)` | df | symmetric power tails, a smooth centre |
| `AlphaStable(tail_index, skewness, scale)` | tail_index | the limit of heavy-tailed sums |
| `Pareto(tail_index, scale)` | tail_index | one-sided power tail, centred |
| `MultivariateT(df, scale)` | df | Student-t, all coordinates large together |
| `SubGaussianStable(tail_index, scale)` | tail_index | stable, all coordinates large together |

The first four draw every coordinate independently. The last two are isotropic: a normal vector is
multiplied by one random factor R. `law.scaled(per_node=…, per_coordinate=…)` makes the noise of any
law louder at some nodes or in some coordinates, and `law.growing(factor)` makes it grow with the
gradient.

For noise of your own, use `SampledNoise(function)`, or derive a law from `CoordinateNoise` or
`IsotropicNoise`; `draw_uniform`, `draw_exponential` and `draw_normal` help to
write one.
"""

from gossamer.noise.alpha_stable import AlphaStable
from gossamer.noise.coordinates import CoordinateNoise
from gossamer.noise.description import NOISES, from_description
from gossamer.noise.gaussian import Gaussian
from gossamer.noise.isotropic import IsotropicNoise
from gossamer.noise.multivariate_t import MultivariateT
from gossamer.noise.noise import (
    Noise,
    NormMoment,
    draw_exponential,
    draw_normal,
    draw_uniform,
)
from gossamer.noise.pareto import Pareto
from gossamer.noise.sampled import SampledNoise
from gossamer.noise.student_t import StudentT
from gossamer.noise.sub_gaussian_stable import SubGaussianStable

__all__ = [
    "NOISES",
    "AlphaStable",
    "CoordinateNoise",
    "Gaussian",
    "IsotropicNoise",
    "MultivariateT",
    "Noise",
    "NormMoment",
    "Pareto",
    "SampledNoise",
    "StudentT",
    "SubGaussianStable",
    "draw_exponential",
    "draw_normal",
    "draw_uniform",
    "from_description",
]
