"""What every noise offers: samples, a tail index, moments, and other noises made of it."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.errors import require

if TYPE_CHECKING:
    from gossamer.noise.growing import Growing
    from gossamer.noise.scaled import Scaled

CPU_BLOCK = 2**16
"""Samples drawn at a time on the CPU: the intermediates then stay in its cache, which halves the
time of a large draw. One kernel launch over everything is best elsewhere."""


class NormMoment(NamedTuple):
    r"""\(E\|ξ\|^p\) and how it is known: "exact", or which upper bound it is."""

    value: float
    how: str


class Noise(ABC):
    r"""Zero-mean noise vectors ξ, drawn independently for every step and node.

    `tail_index` is the supremum of the p with \(E\|ξ\|^p < \infty\) (∞ for light tails). The
    paper's noise assumption \(E\|ξ\|^p \le σ^p\) then holds for every p below it, so for
    t(1.5) or a 1.5-stable law take p = 1.45, never 1.5.

    Its `repr` is Python that builds it again, also on the command line.

    A noise of your own is a `SampledNoise`, or a frozen dataclass that derives from
    `CoordinateNoise` (every coordinate for itself) or `IsotropicNoise` (one radius per vector).
    """

    tail_index: float
    modifiers: ClassVar[tuple[str, ...]] = ("scaled", "growing")
    """Methods that make another noise and may stand in its name."""

    @abstractmethod
    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape` on the generator's device.

        The last axis is the vector, the one before it, if there is one, the nodes. Samples are
        drawn in float64 and then cast: computing in float32 would truncate the tail, which is the
        part that matters.

        >>> from gossamer.noise import Gaussian
        >>> generator = torch.Generator().manual_seed(0)
        >>> Gaussian(std=2.0).sample((2, 3), generator=generator, dtype=torch.float32).shape
        torch.Size([2, 3])
        """

    def has_moment(self, p: float) -> bool:
        r"""Whether \(E\|ξ\|^p\) is finite."""
        return p < self.tail_index

    def moment(self, p: float) -> float:
        r"""The absolute moment \(E|X|^p\) of one coordinate, `math.inf` where it is infinite.

        Where coordinates or nodes differ it is the largest of them.

        >>> from gossamer.noise import StudentT
        >>> round(StudentT(df=1.5).moment(1.1), 3), StudentT(df=1.5).moment(1.5)
        (2.572, inf)
        """
        require(0 < p < math.inf, "p", p, "a finite positive order", "p = 1 gives E|X|")
        return self.finite_moment(p) if self.has_moment(p) else math.inf

    @abstractmethod
    def finite_moment(self, p: float) -> float:
        """The absolute moment of one coordinate, of an order 0 < p that it has."""

    @abstractmethod
    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        r"""\(\max_i E\|b_i ξ\|^p\) or an upper bound, of an order p ≤ 2 that the noise has.

        Args:
            p: the order.
            scales: b, `(nodes, dim)`: what the noise of node i is multiplied by, coordinate by
                coordinate; ones for the noise itself.
        """

    def apply(self, grad: Tensor, sample: Tensor) -> Tensor:
        """The noisy gradient: `grad` + `sample`, which broadcast; vectors are the last axis."""
        return grad + sample

    # ------------------------------------------------------------------ what it can be made into

    def scaled(
        self,
        *,
        per_node: Sequence[float] | Tensor | None = None,
        per_coordinate: Sequence[float] | Tensor | None = None,
    ) -> "Scaled":
        """The noise times a number per node, per coordinate, or both; 0 is no noise there.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).scaled(per_node=[0, 1, 1, 5])
        StudentT(df=1.5, scale=1.0).scaled(per_node=[0.0, 1.0, 1.0, 5.0])
        """
        from gossamer.noise.scaled import Scaled

        return Scaled(self, per_node, per_coordinate)

    def growing(self, factor: float, floor: float = 1.0) -> "Growing":
        r"""The noise times \(a + b\|∇f_i(x_i)\|\), b = `factor`, a = `floor`: relative noise.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).growing(0.5)
        StudentT(df=1.5, scale=1.0).growing(factor=0.5, floor=1.0)
        """
        from gossamer.noise.growing import Growing

        return Growing(self, factor, floor)

    # ------------------------------------------------------------------ how it is written down

    @property
    def data(self) -> dict[str, list[float]]:
        """Lists that are too long for the `repr`, by the names that stand for them there."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Enough to build it again by `noise.from_description`, as plain JSON.

        >>> from gossamer.noise import StudentT
        >>> StudentT(1.5).describe()
        {'name': 'StudentT(df=1.5, scale=1.0)'}
        """
        return {"name": repr(self), **({"data": self.data} if self.data else {})}


def floats(law: Noise, *names: str) -> None:
    """Make these arguments of a law, a frozen dataclass, floats; what is no number is refused."""
    for name in names:
        object.__setattr__(law, name, as_float(name, getattr(law, name)))


def as_float(name: str, value: object) -> float:
    """The number as a float.

    >>> as_float("df", "a")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: df: got 'a', need a number, e.g. 1.5
    """
    plain = isinstance(value, numbers.Real) and not isinstance(value, bool)
    require(plain, name, repr(value), "a number, e.g. 1.5")
    return float(value)  # type: ignore[arg-type]  # a number, as just required


def require_positive(name: str, value: float) -> None:
    """Refuse a scale that is not a finite positive number."""
    number = as_float(name, value)
    way_out = "a run without noise is noise=None" if number == 0 else ""
    require(0 < number < math.inf, name, value, "a finite positive number", way_out)


def draw_uniform(size: int, generator: torch.Generator) -> Tensor:
    """Uniform on [0, 1) in float64, 53 random bits each."""
    return torch.rand(size, generator=generator, dtype=torch.float64, device=generator.device)


def draw_exponential(size: int, generator: torch.Generator) -> Tensor:
    """Exponential with mean 1: −log(1 − U), finite because U < 1.

    A third of the time of `Tensor.exponential_` in float64 on a CPU.
    """
    return -torch.log1p(-draw_uniform(size, generator))


def draw_normal(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Standard normal in float64."""
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device)
