"""Noise that has no preferred direction: one heavy-tailed radius per vector."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.noise.gaussian import Gaussian, standard_norm_moment
from gossamer.noise.noise import CPU_BLOCK, Noise, NormMoment, draw_normal


class IsotropicNoise(Noise):
    r"""ξ = R G with G standard normal and a random factor R > 0, one for the whole vector.

    A large vector is then large in all its coordinates together, like the gradient of a bad batch.
    \(E\|ξ\|^p = E R^p\, E\|G\|^p\) is finite if and only if \(E R^p\) is. A law of your own is a
    frozen dataclass that defines `tail_index`, `draw_radius` and `radius_moment`.
    """

    @abstractmethod
    def draw_radius(self, size: int, generator: torch.Generator) -> Tensor:
        """`size` samples of R in float64, `(size,)`; each law defines this."""

    @abstractmethod
    def radius_moment(self, p: float) -> float:
        r"""\(E R^p\) for an order p > 0 for which it is finite; each law defines this."""

    def sample(
        self,
        shape: Sequence[int],
        *,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Draw a tensor of `shape`, whose last axis is the vector; on a CPU, block by block."""
        samples = torch.empty(tuple(shape), dtype=dtype, device=generator.device)
        dim = samples.shape[-1] if samples.ndim else 1
        vectors = samples.view(samples.numel() // max(1, dim), dim)
        rows = max(1, CPU_BLOCK // max(1, dim)) if samples.device.type == "cpu" else len(vectors)
        for block in vectors.split(max(1, rows)):
            radius = self.draw_radius(len(block), generator)
            torch.mul(draw_normal(block.shape, generator), radius[:, None], out=block)
        return samples

    def finite_moment(self, p: float) -> float:
        """E|R G₁|^p, the moment of one coordinate."""
        return self.radius_moment(p) * Gaussian().moment(p)

    def norm_moment(self, p: float, scales: Tensor) -> NormMoment:
        """E R^p times the moment of a standard normal vector."""
        value, how = standard_norm_moment(p, scales)
        return NormMoment(self.radius_moment(p) * value, how)
