"""QSGD: every coordinate rounded by chance to one of a few levels."""

from dataclasses import dataclass
from typing import SupportsIndex

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.networks.chance import Coins
from gossamer.networks.compressors import blocks
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.message import join, pack, packed_bytes, take, unpack

GOLDEN_RATIO = 0.6180339887498949


@dataclass(frozen=True, repr=False)
class QSGD(Compressor):
    r"""Each coordinate of z − ĥ rounded up or down by chance, right in the mean, to `bits` bits.

    In a block of at most B coordinates with largest entry m the levels are −s, …, s times m/s,
    s = 2^(bits−1) − 1, and with u uniform on [0, 1)

    $$ĥ⁺ = ĥ + \tfrac{m}{s} ⌊\tfrac{s}{m}(z - ĥ) + u⌋, \qquad E ĥ⁺ = z, \qquad
      E‖z - ĥ⁺‖² ≤ 1.02 \tfrac{B}{4 s²} ‖z - ĥ‖²,$$

    the 1.02 because m/s is rounded up to 8 binary digits. An unbiased Q need not be a contraction:
    here it is, for any z, because B is the largest power of two that leaves no more than 2/3: 16
    for 3 bits, 128 for 4, 512 for 5. The largest entry rather than the 2-norm of the original: the
    latter is larger, √B times if entries are equal, and so are its levels. Heavy tails stay in
    their blocks.

    The u of a block are a random start plus multiples of the golden ratio, mod 1. Each is
    uniform, and mean and error above need no more; one hash per block instead of per coordinate.

    >>> copy, z = torch.zeros(3), torch.tensor([7.0, -2.0, 0.5])
    >>> QSGD(4).compress(copy, z, Coins.of(0, 0))
    tensor([ 7., -2.,  0.])
    >>> QSGD(4).message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.13281266...

    Args:
        bits: of each coordinate, from 3 to 8; with less, the scales of the blocks weigh more than
            the coordinates.

    Reference: D. Alistarh et al., "QSGD: Communication-efficient SGD via gradient quantization and
    encoding", NIPS 2017.
    """

    bits: int = 4

    def __post_init__(self) -> None:
        way_out = "for fewer bits take Sign(), for more Cast('bfloat16')"
        inside = isinstance(self.bits, SupportsIndex) and 3 <= self.bits <= 8
        require(inside, "bits", self.bits, "an integer from 3 to 8", way_out)

    @property
    def top(self) -> int:
        """s, the highest level."""
        return 2 ** (self.bits - 1) - 1

    @property
    def block(self) -> int:
        """B: the largest power of two with (B − 1)/4s² ≤ 2/3."""
        return 1 << ((8 * self.top**2 // 3 + 1).bit_length() - 1)

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ + levels × steps."""
        levels, steps = self._quantized(copy, z, coins)
        return blocks.moved(copy, levels.mul_(steps))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The steps, then the lowest bit of all levels, the next bit of all, …"""
        levels, steps = self._quantized(copy, z, coins)
        codes = levels.flatten()[: len(copy)].add_(self.top).to(torch.uint8)
        planes = [pack((codes >> bit) & 1) for bit in range(self.bits)]
        return join(steps.flatten(), *planes)

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ + levels × steps."""
        dim = len(copy)
        steps, planes = take(message, blocks.shape(dim, self.block)[0], copy.dtype)
        codes = torch.zeros(dim, dtype=torch.uint8, device=copy.device)
        for bit, plane in enumerate(planes.view(self.bits, -1)):
            codes |= unpack(plane, dim).view(torch.uint8) << bit
        levels = blocks.split(codes.to(copy.dtype).sub_(self.top), self.block)
        return blocks.moved(copy, levels.mul_(steps[:, None]))

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """`bits` bits for each coordinate and a number for each block."""
        return blocks.shape(dim, self.block)[0] * dtype.itemsize + self.bits * packed_bytes(dim)

    def gamma(self, dim: int) -> float:
        """1/(1 + ω) with ω = (B − 1)/4s², the bound on the error: with 4 bits 0.9 … 0.6.

        Gradient tracking on a ring of 10 and on a digraph whose Perron weights differ 128-fold is
        exact even with 1, for 3 and 4 bits.
        """
        width = min(dim, self.block)
        return 1 / (1 + (width - 1) / (4 * self.top**2))

    def _quantized(self, copy: Tensor, z: Tensor, coins: Coins) -> tuple[Tensor, Tensor]:
        """Levels, `(…, blocks, width)`, and the steps between them, `(…, blocks, 1)`."""
        differences = blocks.differences(copy, z, self.block)
        steps = blocks.steps(differences, self.top)
        count, width = differences.shape[-2:]
        chance = dither(coins, count, width, copy.dtype).view(differences.shape)
        levels = differences.mul_(1 / steps).add_(chance).floor_()
        return levels.clamp_(-self.top, self.top), steps


def dither(coins: Coins, count: int, width: int, dtype: torch.dtype) -> Tensor:
    """The u of `count` blocks for each run, `(…, count · width)`."""
    start = coins.uniform(count, dtype)[..., None]
    walk = (torch.arange(width, device=start.device) * GOLDEN_RATIO).frac().to(dtype)
    return coins.deal((start + walk).frac_().flatten(-2))
