"""QSGD: every coordinate randomly rounded to one of a few levels."""

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
    r"""Each coordinate of z − ĥ, randomly rounded up or down to a few bits, without bias.

    In a block of at most B coordinates whose largest |z − ĥ| is m, the coordinates are rounded to
    multiples of m/s from −m to m, where s = 2^(bits−1) − 1. With u uniform on [0, 1),

    $$ĥ⁺ = ĥ + \tfrac{m}{s} ⌊\tfrac{s}{m}(z - ĥ) + u⌋, \qquad E ĥ⁺ = z, \qquad
      E‖z - ĥ⁺‖² ≤ 1.02 \tfrac{B}{4 s²} ‖z - ĥ‖².$$

    If m/s were used as it is, the error would be at most ω ‖z − ĥ‖² with ω = (B − 1)/(4s²), since
    the largest coordinate is a multiple of m/s. But m/s is rounded up to 8 binary digits, which
    gives the slightly larger bound above.

    An unbiased Q need not be a contraction. This one is, because B is the largest power of two with
    ω ≤ 2/3 (16 for 3 bits, 128 for 4, 512 for 5); the bound above is then at most 2/3, too. The
    original QSGD uses the 2-norm of the block in place of m, which is up to √B times as large and
    makes the rounding that much coarser. Since every block has its own m, an extreme coordinate
    affects only its own block.

    The u of a block are a random start plus multiples of the golden ratio, mod 1. They are not
    independent, but each is uniform, which suffices for the mean and the error above, and a block
    needs only one random number.

    >>> copy, z = torch.zeros(3), torch.tensor([7.0, -2.0, 0.5])
    >>> QSGD(4).compress(copy, z, Coins.of(0, 0))
    tensor([ 7., -2.,  0.])
    >>> QSGD(4).message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.13281266...

    Args:
        bits: bits per coordinate, from 3 to 8. With fewer bits, blocks would be so short that their
            scales take more bytes than the coordinates.

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
        """s = 2^(bits−1) − 1; coordinates are rounded to −s, …, s times m/s."""
        return 2 ** (self.bits - 1) - 1

    @property
    def block(self) -> int:
        """B, the largest power of two with (B − 1)/(4s²) ≤ 2/3."""
        return 1 << ((8 * self.top**2 // 3 + 1).bit_length() - 1)

    @property
    def words(self) -> str:
        """What a message holds."""
        return f"changes, stochastically rounded to {self.bits} bits"

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ plus integers from −s to s times m/s, the step of the block."""
        levels, steps = self._quantized(copy, z, coins)
        return blocks.moved(copy, levels.mul_(steps))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The steps m/s of all blocks, then bit 0 of all integers, then bit 1 of all integers, …"""
        levels, steps = self._quantized(copy, z, coins)
        codes = levels.flatten()[: len(copy)].add_(self.top).to(torch.uint8)
        planes = [pack((codes >> bit) & 1) for bit in range(self.bits)]
        return join(steps.flatten(), *planes)

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ plus the integers of the message times their steps."""
        dim = len(copy)
        steps, planes = take(message, blocks.shape(dim, self.block)[0], copy.dtype)
        codes = torch.zeros(dim, dtype=torch.uint8, device=copy.device)
        for bit, plane in enumerate(planes.view(self.bits, -1)):
            codes |= unpack(plane, dim).view(torch.uint8) << bit
        levels = blocks.split(codes.to(copy.dtype).sub_(self.top), self.block)
        return blocks.moved(copy, levels.mul_(steps[:, None]))

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """The size of the rounded coordinates and of one number for each block."""
        return blocks.shape(dim, self.block)[0] * dtype.itemsize + self.bits * packed_bytes(dim)

    def gamma(self, dim: int) -> float:
        """1/(1 + ω), where ω = (B − 1)/(4s²), with dim in place of B if dim is less.

        ω is the bound on the error before m/s is rounded (see `QSGD`). With 4 bits, γ is 0.91 for
        20 coordinates and 0.61 from 128 coordinates on. With 3 and 4 bits, gradient tracking
        converged exactly to the optimum even with γ = 1, both on a ring of 10 nodes and on an
        unbalanced digraph whose largest Perron weight is 128 times the smallest.
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
