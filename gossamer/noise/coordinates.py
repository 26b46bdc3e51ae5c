"""Noise whose coordinates are drawn independently, all from one law."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.noise.noise import CPU_BLOCK, Noise, NormMoment


class CoordinateNoise(Noise):
    r"""A law of numbers, drawn for every coordinate by itself.

    A large vector then has a few large coordinates, and its norm is the size of the largest. A law
    of your own is a frozen dataclass that defines `tail_index`, `draw` and `finite_moment`; users
    call `sample` and `moment`, which are made of these.
    """

    @abstractmethod
    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """`size` samples in float64 on the generator's device, `(size,)`; what a law defines."""

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape`, in blocks on a CPU."""
        samples = torch.empty(tuple(shape), dtype=dtype, device=generator.device)
        size = CPU_BLOCK if samples.device.type == "cpu" else max(1, samples.numel())
        for block in samples.view(-1).split(size):
            block.copy_(self.draw(block.numel(), generator))
        return samples

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        r"""Exact in one dimension and at p = 2; else, as p ≤ 2, \(\|ξ\|^p \le \sum_k |ξ_k|^p\)."""
        largest = float(scales.pow(p).sum(dim=1).max())
        exact = scales.shape[1] == 1 or p == 2
        how = "exact" if exact else "upper bound (Σ_k E|ξ_k|^p)^(1/p)"
        return NormMoment(self.moment(p) * largest, how)
