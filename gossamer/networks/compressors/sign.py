"""Sign: one bit per coordinate."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.networks.chance import Coins
from gossamer.networks.compressors import blocks
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.message import join, pack, packed_bytes, take, unpack

BLOCK = 256
"""Coordinates with one scale: an eighth of the bits of a float32 message are scales."""


@dataclass(frozen=True, repr=False)
class Sign(Compressor):
    r"""The signs of z − ĥ, times the mean of |z − ĥ| over each block of B = 256 coordinates:

    $$ĥ⁺ = ĥ + \tfrac1B ‖z - ĥ‖₁ \operatorname{sign}(z - ĥ), \qquad
      ‖z - ĥ⁺‖² = ‖z - ĥ‖² - \tfrac1B ‖z - ĥ‖₁² ≤ (1 - \tfrac1B) ‖z - ĥ‖²$$

    on each block: entries of about the same size lose most of their difference, a single large
    one almost nothing.

    >>> Sign().compress(torch.zeros(3), torch.tensor([3.0, -2.0, 1.0]), Coins.of(0, 0))
    tensor([ 2., -2.,  2.])
    >>> Sign().message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.03515...
    """

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ ± scale."""
        differences = blocks.differences(copy, z, BLOCK)
        scales = mean_size(differences, copy.shape[-1])
        return blocks.moved(copy, torch.copysign(scales, differences))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The scales, then one bit per coordinate."""
        differences = blocks.differences(copy, z, BLOCK)
        signs = differences.flatten()[: len(copy)].signbit()
        return join(mean_size(differences, len(copy)).flatten(), pack(signs))

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ ± scale."""
        scales, signs = take(message, blocks.shape(len(copy), BLOCK)[0], copy.dtype)
        signed = 1 - 2 * unpack(signs, len(copy)).to(copy.dtype)
        return blocks.moved(copy, blocks.split(signed, BLOCK).mul_(scales[:, None]))

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """A number for each block and one bit for each coordinate."""
        return blocks.shape(dim, BLOCK)[0] * dtype.itemsize + packed_bytes(dim)

    def gamma(self, dim: int) -> float:
        """To be measured."""
        return 0.1


def mean_size(differences: Tensor, dim: int) -> Tensor:
    """The mean of |z − ĥ| over the coordinates of each block, `(…, blocks, 1)`."""
    count, width = differences.shape[-2:]
    sizes = torch.full((count, 1), width, device=differences.device)
    sizes[-1] = dim - (count - 1) * width
    return differences.abs().sum(-1, keepdim=True).div_(sizes)
