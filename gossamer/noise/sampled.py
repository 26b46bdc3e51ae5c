"""Noise from a function of your own."""

import math
from collections.abc import Callable, Sequence
from weakref import WeakSet

import torch
from torch import Tensor

from gossamer.errors import InvalidInput, require
from gossamer.interval import Interval, within
from gossamer.noise.noise import Noise, NormMoment

Sampler = Callable[[tuple[int, ...], torch.Generator], Tensor]
"""Shape and generator → zero-mean noise of that shape, on the generator's device."""

_REPRODUCIBLE: "WeakSet[SampledNoise]" = WeakSet()
"""Those that have been found to draw the same from equal generators."""


class SampledNoise(Noise):
    """Noise drawn by a function of your own.

    Args:
        function: `function(shape, generator)` returns floating-point noise with mean 0 and that
            shape; the last axis is that of the vector, the one before it that of the nodes. All its
            random numbers must come from `generator`, and its result must be on the generator's
            device. To check this, it is called twice with equal generators before its first use.
        name: name of the noise; by default that of the function.
        tail_index: the supremum of the orders p with a finite moment, if you know it. With it,
            `plan` also needs `sigma`. Without it, `plan` needs `p` and `sigma`, or samples.

    >>> def laplace(shape, generator):
    ...     size = torch.empty(shape, dtype=torch.float64).exponential_(generator=generator)
    ...     return size * (2 * torch.randint(2, shape, generator=generator) - 1)
    >>> SampledNoise(laplace).scaled(per_node=[1, 5])
    SampledNoise(laplace).scaled(per_node=[1.0, 5.0])
    """

    def __init__(
        self, function: Sampler, *, name: str | None = None, tail_index: float | None = None
    ) -> None:
        require(callable(function), "function", repr(function), "a function of shape and generator")
        self.name = str(name or getattr(function, "__name__", "<unnamed>"))
        unnamed = "results are told apart by it, e.g. name='Laplace'"
        require(not self.name.startswith("<"), "name", self.name, "a name", unnamed)
        self.function = function
        self.tail_index = math.nan
        if tail_index is not None:
            means = "at 1 or below the mean does not exist, so no noise can be zero-mean"
            above = Interval(1, math.inf, closed_high=True)
            self.tail_index = within("tail_index", tail_index, above, means)

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """The noise that the function returns, checked and cast to `dtype`."""
        if self not in _REPRODUCIBLE:
            self._require_reproducible(tuple(shape), generator)
        return self._call(tuple(shape), generator).to(dtype)

    def has_moment(self, p: float) -> bool:
        """Whether p is below the tail index; refused if that is not known."""
        known = not math.isnan(self.tail_index)
        way_out = "or give p and sigma, or samples"
        require(known, "tail_index", f"none for {self}", "a number above 1", way_out)
        return super().has_moment(p)

    def finite_moment(self, p: float) -> float:
        """Always refused, since the moments of a function are not known."""
        raise self._unknown()

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        """Always refused, since the moments of a function are not known."""
        raise self._unknown()

    def __repr__(self) -> str:
        return f"SampledNoise({self.name})"

    def _call(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        sample = self.function(shape, generator)
        need = f"a floating-point tensor of shape {shape} on {generator.device}"
        require(isinstance(sample, Tensor), self.name, type(sample).__name__, need)
        right = sample.shape == shape and sample.is_floating_point()
        found = f"{sample.dtype}, shape {tuple(sample.shape)} on {sample.device}"
        beside = sample.device.type == generator.device.type
        require(right and beside, self.name, found, need)
        return sample

    def _require_reproducible(self, shape: tuple[int, ...], generator: torch.Generator) -> None:
        first, second = (self._call(shape, generator.clone_state()) for _ in range(2))
        found = "different samples from equal generators"
        way_out = "draw with generator=generator, as in torch.randn(shape, generator=generator)"
        require(torch.equal(first, second), self.name, found, "equal ones", way_out)
        _REPRODUCIBLE.add(self)

    def _unknown(self) -> InvalidInput:
        return InvalidInput(
            f"noise: got {self}, whose moments are not known, need a law that states them; give "
            "sigma, or samples=noise.sample((10_000, dim), generator=generator) if it is added to "
            "exact gradients"
        )
