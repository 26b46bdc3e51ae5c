"""Zero-mean gradient noise: one file per law, and `NOISES` lists them by name.

| law | tail index | what it models |
|---|---|---|
| `Gaussian(std)` | ∞ | the light-tailed reference |
| `StudentT(df, scale)` | df | symmetric power tails, a smooth centre |
| `AlphaStable(tail_index, skewness, scale)` | tail_index | the limit of heavy-tailed sums |
| `Pareto(tail_index, scale)` | tail_index | one-sided power tail, centred |

A law of your own derives from `Noise`; `draw_uniform`, `draw_exponential` and `require_positive`
help to write it.
"""

from gossamer.noise.alpha_stable import AlphaStable
from gossamer.noise.gaussian import Gaussian
from gossamer.noise.noise import Noise, draw_exponential, draw_uniform, require_positive
from gossamer.noise.pareto import Pareto
from gossamer.noise.student_t import StudentT

NOISES: dict[str, type[Noise]] = {
    law.__name__: law for law in (Gaussian, StudentT, AlphaStable, Pareto)
}

__all__ = [
    "NOISES",
    "AlphaStable",
    "Gaussian",
    "Noise",
    "Pareto",
    "StudentT",
    "draw_exponential",
    "draw_uniform",
    "require_positive",
]
