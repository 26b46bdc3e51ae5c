"""What every noise law offers: samples, a tail index, absolute moments."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.errors import require

CPU_BLOCK = 2**16
"""Samples drawn at a time on the CPU: the intermediates then stay in its cache, which halves the
time of a large draw. One kernel launch over everything is best elsewhere."""


class Noise(ABC):
    r"""A law with mean zero, drawn independently for every coordinate.

    `tail_index` is the supremum of the p with \(E|X|^p < \infty\) (∞ for light tails). The
    paper's noise assumption \(E\|ξ\|^p \le σ^p\) then holds for every p below it, so for
    t(1.5) or a 1.5-stable law take p = 1.45, never 1.5.

    A law of your own is a frozen dataclass that defines `tail_index`, `draw` and `finite_moment`;
    users call `sample` and `moment`, which are made of these.
    """

    tail_index: float

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape` on the generator's device.

        Samples are drawn in float64 and then cast: computing in float32 would truncate the
        tail, which is the part that matters.

        >>> from gossamer.noise import Gaussian
        >>> generator = torch.Generator().manual_seed(0)
        >>> Gaussian(std=2.0).sample((2, 3), generator=generator, dtype=torch.float32).shape
        torch.Size([2, 3])
        """
        samples = torch.empty(tuple(shape), dtype=dtype, device=generator.device)
        size = CPU_BLOCK if samples.device.type == "cpu" else max(1, samples.numel())
        for block in samples.view(-1).split(size):
            block.copy_(self.draw(block.numel(), generator))
        return samples

    def moment(self, p: float) -> float:
        r"""The absolute moment \(E|X|^p\) of one coordinate, `math.inf` where it is infinite.

        >>> from gossamer.noise import StudentT
        >>> round(StudentT(df=1.5).moment(1.1), 3), StudentT(df=1.5).moment(1.5)
        (2.572, inf)
        """
        require(0 < p < math.inf, "p", p, "a finite positive order", "p = 1 gives E|X|")
        return self.finite_moment(p) if p < self.tail_index else math.inf

    @abstractmethod
    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """`size` samples in float64 on the generator's device, `(size,)`; what a law defines."""

    @abstractmethod
    def finite_moment(self, p: float) -> float:
        """The absolute moment of order 0 < p < `tail_index`; what a law defines."""


def require_positive(name: str, value: float) -> None:
    """Refuse a scale that is not a finite positive number."""
    way_out = "a run without noise is noise=None" if value == 0 else ""
    require(0 < value < math.inf, name, value, "a finite positive number", way_out)


def draw_uniform(size: int, generator: torch.Generator) -> Tensor:
    """Uniform on [0, 1) in float64, 53 random bits each."""
    return torch.rand(size, generator=generator, dtype=torch.float64, device=generator.device)


def draw_exponential(size: int, generator: torch.Generator) -> Tensor:
    """Exponential with mean 1: −log(1 − U), finite because U < 1.

    A third of the time of `Tensor.exponential_` in float64 on a CPU.
    """
    return -torch.log1p(-draw_uniform(size, generator))
