"""Sign: one bit per coordinate."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.networks.chance import Coins
from gossamer.networks.compressors import blocks
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.message import join, pack, packed_bytes, unpack

BLOCK = 32
"""Coordinates with one scale."""


@dataclass(frozen=True, repr=False)
class Sign(Compressor):
    r"""The signs of z − ĥ, times a scale s for each block of B = 32 coordinates.

    s is the mean of |z − ĥ| over the block, rounded to a power of two, so that it is sent in one
    byte. On each block,

    $$ĥ⁺ = ĥ + s \operatorname{sign}(z - ĥ), \qquad
      ‖z - ĥ⁺‖² = ‖z - ĥ‖² - 2 s ‖z - ĥ‖₁ + B s² ≤ (1 - \tfrac{8}{9 B}) ‖z - ĥ‖².$$

    If all |z − ĥ| of a block have about the same size, one message removes most of the difference.
    If a single one is large, a message removes no more than the bound says, and this case decides
    how large γ can be: on an unbalanced digraph, gradient tracking diverges if γ is well above 3/B
    (see `gamma`).

    A spike in one coordinate moves the copies of its whole block, for a while by about 1/B of the
    spike. Totals in the other coordinates of the block then keep their sums only up to rounding
    errors of such large numbers. Under heavy tails prefer another compressor.

    >>> Sign().compress(torch.zeros(3), torch.tensor([3.5, -2.0, 1.0]), Coins.of(0, 0))
    tensor([ 2., -2.,  2.])
    >>> Sign().message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.0390625
    """

    @property
    def words(self) -> str:
        """What a message holds."""
        return "the signs of the changes"

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ ± s, with the signs of z − ĥ."""
        differences = blocks.differences(copy, z, BLOCK)
        scales = scale(exponents(differences, copy.shape[-1]), copy.dtype)
        return blocks.moved(copy, torch.copysign(scales, differences))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The exponent of each scale, then the sign of each coordinate as one bit."""
        differences = blocks.differences(copy, z, BLOCK)
        negative = differences.flatten()[: len(copy)].signbit()
        return join(exponents(differences, len(copy)).flatten(), pack(negative))

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ ± s, with the signs of z − ĥ."""
        dim = len(copy)
        count, _ = blocks.shape(dim, BLOCK)
        signs = 1 - 2 * unpack(message[count:], dim).to(copy.dtype)
        scales = scale(message[:count, None], copy.dtype)
        return blocks.moved(copy, blocks.split(signs, BLOCK).mul_(scales))

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """One byte for each block and one bit for each coordinate."""
        return blocks.shape(dim, BLOCK)[0] + packed_bytes(dim)

    def gamma(self, dim: int) -> float:
        """2/B, which is 0.0625; 2/dim, but at most 1, if there are fewer than B coordinates.

        On an unbalanced digraph whose largest Perron weight is 128 times the smallest, gradient
        tracking converged to the optimum with 2/B and 3/B. With 4/B it diverged unless the step
        size was small, and with 6/B it always diverged. Mixing alone, without gradients, converges
        even with 6/B, but more slowly: a total of 512 coordinates settles to 10⁻⁹ in 1,900 steps
        with 2/B, 2,300 with 3/B and 5,700 with 6/B. On a ring of 10 nodes, gradient tracking
        converged with all of these γ, and mixing alone is fastest with 6/B.
        """
        return min(1.0, 2 / min(dim, BLOCK))


def exponents(differences: Tensor, dim: int) -> Tensor:
    """The rounded exponent of the mean of |z − ĥ| over each block, uint8, `(…, blocks, 1)`."""
    count, width = differences.shape[-2:]
    sizes = torch.full((count, 1), width, device=differences.device)
    sizes[-1] = dim - (count - 1) * width
    mean = differences.abs().sum(-1, keepdim=True).div_(sizes)
    bits = mean.float().nan_to_num_(torch.inf, torch.inf).view(torch.int32)
    return ((bits + 2**22) >> 23).to(torch.uint8)


def scale(exponents: Tensor, dtype: torch.dtype) -> Tensor:
    """The power of two with this exponent in float32; 0 with the lowest, ∞ with the highest.

    >>> scale(torch.tensor([0, 126, 127, 128, 255], dtype=torch.uint8), torch.float64)
    tensor([0.0000, 0.5000, 1.0000, 2.0000,    inf], dtype=torch.float64)
    """
    return (exponents.to(torch.int32) << 23).view(torch.float32).to(dtype)
