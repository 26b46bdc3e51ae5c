"""Noise whose coordinates are drawn independently, all from one law."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.noise.noise import CPU_BLOCK, Noise, NormMoment


class CoordinateNoise(Noise):
    r"""Noise whose coordinates are drawn independently, all from one law.

    If the tails of the law are heavy, a large vector has a few large coordinates, and its norm is
    about the size of the largest.
    A law of your own is a frozen dataclass that defines `tail_index`, `draw` and `finite_moment`;
    users call `sample` and `moment`, which are built on these.
    """

    @abstractmethod
    def draw(self, size: int, generator: torch.Generator) -> Tensor:
        """`size` samples in float64 on the generator's device, `(size,)`; each law defines this."""

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape`; on a CPU, block by block."""
        samples = torch.empty(tuple(shape), dtype=dtype, device=generator.device)
        size = CPU_BLOCK if samples.device.type == "cpu" else max(1, samples.numel())
        for block in samples.view(-1).split(size):
            block.copy_(self.draw(block.numel(), generator))
        return samples

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        r"""Exact in one dimension and for p = 2; otherwise bounded by \(\sum_k E|ξ_k|^p\)."""
        largest = float(scales.pow(p).sum(dim=1).max())
        exact = scales.shape[1] == 1 or p == 2
        how = "exact" if exact else "upper bound (Σ_k E|ξ_k|^p)^(1/p)"
        return NormMoment(self.moment(p) * largest, how)
