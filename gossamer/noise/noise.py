"""What every noise offers: samples, a tail index, moments, and other noises made of it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.interval import POSITIVE, Interval, within

if TYPE_CHECKING:
    from gossamer.noise.growing import Growing
    from gossamer.noise.scaled import Scaled

CPU_BLOCK = 2**16
"""Samples drawn at a time on the CPU: the intermediates then stay in its cache, which halves the
time of a large draw. One kernel launch over everything is best elsewhere."""


class NormMoment(NamedTuple):
    r"""\(E\|ξ\|^p\) or an upper bound, and which of these it is."""

    value: float
    """The moment, or the upper bound."""

    how: str
    """Either "exact", or which upper bound the value is."""


class Noise(ABC):
    r"""Zero-mean noise vectors ξ, drawn independently for every step and node.

    `tail_index` is the supremum of the orders p with \(E\|ξ\|^p < \infty\) (∞ for light tails).
    The noise assumption of the GT-NSGDm paper, \(E\|ξ\|^p \le σ^p\), then holds, with some σ, for
    every p below it, but not for p = `tail_index`: for `StudentT(1.5)` or a 1.5-stable law take
    e.g. p = 1.45. There is one exception: the stable laws `AlphaStable(2)` and
    `SubGaussianStable(2)` are Gaussian and have all moments, although their `tail_index` is 2.

    The `repr` is a Python expression that builds the noise again and can also be used on the
    command line.

    For noise of your own, use `SampledNoise`, or derive a frozen dataclass from `CoordinateNoise`
    (independent coordinates) or `IsotropicNoise` (one random factor per vector).
    """

    tail_index: float
    modifiers: ClassVar[tuple[str, ...]] = ("scaled", "growing")
    """Names of the methods that return a modified noise, as in "StudentT(1.5).growing(0.5)"."""

    @abstractmethod
    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape` on the generator's device.

        The last axis is that of the vector; the one before it, if there is one, is that of the
        nodes. Samples are drawn in float64 and then cast to `dtype`, since computing in float32
        would truncate the tail.

        >>> from gossamer.noise import Gaussian
        >>> generator = torch.Generator().manual_seed(0)
        >>> Gaussian(std=2.0).sample((2, 3), generator=generator, dtype=torch.float32).shape
        torch.Size([2, 3])
        """

    def has_moment(self, p: float) -> bool:
        r"""Whether \(E\|ξ\|^p\) is finite."""
        return p < self.tail_index

    def moment(self, p: float) -> float:
        r"""The absolute moment \(E|X|^p\) of one coordinate, `math.inf` if it is infinite.

        If coordinates or nodes differ, it is the largest of their moments.

        >>> from gossamer.noise import StudentT
        >>> round(StudentT(df=1.5).moment(1.1), 3), StudentT(df=1.5).moment(1.5)
        (2.572, inf)
        """
        within("p", p, POSITIVE, "p = 1 gives E|X|")
        return self.finite_moment(p) if self.has_moment(p) else math.inf

    @abstractmethod
    def finite_moment(self, p: float) -> float:
        """The absolute moment of one coordinate, for an order p > 0 for which it is finite."""

    @abstractmethod
    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        r"""\(\max_i E\|b_i ξ\|^p\) or an upper bound, for an order p ≤ 2 for which it is finite.

        Args:
            p: the order.
            scales: b, `(nodes, dim)`; the noise of node i is multiplied by b_i, coordinate by
                coordinate. Ones give the moment of the noise itself.
        """

    def apply(self, grad: Tensor, sample: Tensor) -> Tensor:
        """The noisy gradient `grad` + `sample`, with broadcasting; the last axis is the vector."""
        return grad + sample

    # ------------------------------------------------------------------ what it can be made into

    def scaled(
        self,
        *,
        per_node: Sequence[float] | Tensor | None = None,
        per_coordinate: Sequence[float] | Tensor | None = None,
    ) -> "Scaled":
        """The noise times a factor per node, per coordinate, or both; a factor may be 0.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).scaled(per_node=[0, 1, 1, 5])
        StudentT(df=1.5, scale=1.0).scaled(per_node=[0.0, 1.0, 1.0, 5.0])
        """
        from gossamer.noise.scaled import Scaled

        return Scaled(self, per_node, per_coordinate)

    def growing(self, factor: float, floor: float = 1.0) -> "Growing":
        r"""The noise times \(a + b\|∇f_i(x_i)\|\) with a = `floor` and b = `factor`.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).growing(0.5)
        StudentT(df=1.5, scale=1.0).growing(factor=0.5, floor=1.0)
        """
        from gossamer.noise.growing import Growing

        return Growing(self, factor, floor)

    # ------------------------------------------------------------------ how it is written down

    @property
    def data(self) -> dict[str, list[float]]:
        """Lists that are too long for the `repr`, under the names that stand for them there."""
        return {}

    def describe(self) -> dict[str, Any]:
        """A description in plain JSON, from which `noise.from_description` builds the noise again.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).describe()
        {'name': 'StudentT(df=1.5, scale=1.0)'}
        """
        return {"name": repr(self), **({"data": self.data} if self.data else {})}


def set_within(law: Noise, name: str, interval: Interval, way_out: str = "") -> None:
    """Make an argument of a law, a frozen dataclass, a float; refused outside the interval."""
    object.__setattr__(law, name, within(name, getattr(law, name), interval, way_out))


def set_scale(law: Noise, name: str = "scale") -> None:
    """Make the scale of a law a float; refused unless it is positive."""
    set_within(law, name, POSITIVE, "a run without noise is noise=None")


def draw_uniform(size: int, generator: torch.Generator) -> Tensor:
    """Uniform samples on [0, 1) in float64, with 53 random bits each."""
    return torch.rand(size, generator=generator, dtype=torch.float64, device=generator.device)


def draw_exponential(size: int, generator: torch.Generator) -> Tensor:
    """Exponential samples with mean 1 in float64: −log(1 − U), finite because U < 1.

    On a CPU this takes a third of the time of `Tensor.exponential_`.
    """
    return -torch.log1p(-draw_uniform(size, generator))


def draw_normal(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Standard normal samples in float64."""
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device)
