"""Zero-mean gradient noise: one file per law, and `NOISES` lists them by name.

| law | tail index | what it models |
|---|---|---|
| `Gaussian(std)` | ∞ | the light-tailed reference |
| `StudentT(df, scale)` | df | symmetric power tails, a smooth centre |
| `AlphaStable(tail_index, skewness, scale)` | tail_index | the limit of heavy-tailed sums |
| `Pareto(tail_index, scale)` | tail_index | one-sided power tail, centred |
| `MultivariateT(df, scale)` | df | Student-t, all coordinates large at once |
| `SubGaussianStable(tail_index, scale)` | tail_index | symmetric stable, all large at once |

The first four draw every coordinate by itself, the last two are isotropic: one radius per vector.
Any of them can be made louder somewhere, `law.scaled(per_node=…, per_coordinate=…)`, or made to
grow with the gradient, `law.growing(factor)`.

Noise of your own: `SampledNoise(function)`, or a law that derives from `CoordinateNoise` or
`IsotropicNoise`; `draw_uniform`, `draw_exponential`, `draw_normal` and `require_positive` help to
write it.
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
    require_positive,
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
    "require_positive",
]
