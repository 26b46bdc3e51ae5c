"""Noises by name: the laws, and whatever `Noise.describe` described."""

from collections.abc import Callable, Mapping
from typing import Any

from gossamer.errors import require
from gossamer.noise.alpha_stable import AlphaStable
from gossamer.noise.gaussian import Gaussian
from gossamer.noise.multivariate_t import MultivariateT
from gossamer.noise.noise import Noise
from gossamer.noise.pareto import Pareto
from gossamer.noise.student_t import StudentT
from gossamer.noise.sub_gaussian_stable import SubGaussianStable
from gossamer.spec import build

NOISES: dict[str, Callable[..., Noise]] = {
    law.__name__: law
    for law in (Gaussian, StudentT, AlphaStable, Pareto, MultivariateT, SubGaussianStable)
}
"""Name → law."""


def from_description(description: Mapping[str, Any]) -> Noise:
    """Builds the noise that `describe` described; no code is executed.

    >>> from_description({"name": "StudentT(1.5).scaled(per_node=[1, 5])"})
    StudentT(df=1.5, scale=1.0).scaled(per_node=[1.0, 5.0])
    """
    known = isinstance(description, Mapping) and isinstance(description.get("name"), str)
    require(known, "description", repr(description), "what noise.describe() returns")
    return build("noise", description["name"], NOISES, description.get("data"))
