"""Cast: every coordinate rounded to a shorter floating-point type."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.errors import choice
from gossamer.networks.chance import Coins
from gossamer.networks.compressors import blocks
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.message import join, take

TYPES = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}

BLOCK = 128
"""Coordinates with one scale: 1.6 % of a message in bfloat16, 3 % in float8."""


@dataclass(frozen=True, repr=False)
class Cast(Compressor):
    r"""z − ĥ, scaled block by block to the range of a short `dtype` and rounded to it.

    With a scale m for each block of 128 coordinates,

    $$ĥ⁺ = ĥ + m\,\mathrm{round}((z - ĥ)/m), \qquad
      ‖z - ĥ⁺‖² ≤ ε² ‖z - ĥ‖² \text{ except for subnormal numbers},$$

    with ε = 2⁻⁸ in bfloat16, 2⁻¹¹ in float16, 2⁻⁴ in float8_e4m3fn, 2⁻³ in float8_e5m2. m is the
    largest |z − ĥ| of the block divided by the largest number of the type, so that nothing
    overflows.

    >>> Cast("float8_e4m3fn").compress(torch.zeros(2), torch.tensor([448.0, 3.3]), Coins.of(0, 0))
    tensor([448.0000,   3.2500])
    >>> Cast("bfloat16").message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.5078...

    Args:
        dtype: "bfloat16", "float16", "float8_e4m3fn" or "float8_e5m2".
    """

    dtype: str

    def __post_init__(self) -> None:
        choice("dtype", self.dtype, TYPES)

    @property
    def words(self) -> str:
        """What a message holds."""
        return f"changes, in {self.dtype}"

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ plus the rounded numbers times m."""
        rounded, steps = self._rounded(copy, z)
        return blocks.moved(copy, rounded.to(copy.dtype).mul_(steps))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The scale m of each block, then the rounded number of each coordinate."""
        rounded, steps = self._rounded(copy, z)
        return join(steps.flatten(), rounded.flatten()[: len(copy)])

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ plus the numbers of the message times m."""
        steps, rounded = take(message, blocks.shape(len(copy), BLOCK)[0], copy.dtype)
        numbers = take(rounded, len(copy), TYPES[self.dtype])[0].to(copy.dtype)
        return blocks.moved(copy, blocks.split(numbers, BLOCK).mul_(steps[:, None]))

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """A number for each block and a short number for each coordinate."""
        steps = blocks.shape(dim, BLOCK)[0] * dtype.itemsize
        return steps + dim * TYPES[self.dtype].itemsize

    def gamma(self, dim: int) -> float:
        """1; methods converge as fast and to the same accuracy as without compression.

        This holds even on digraphs.
        """
        return 1.0

    def _rounded(self, copy: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Short numbers, `(…, blocks, width)`, and their units, `(…, blocks, 1)`."""
        short = TYPES[self.dtype]
        differences = blocks.differences(copy, z, BLOCK)
        steps = blocks.steps(differences, torch.finfo(short).max)
        return differences.mul_(1 / steps).to(short), steps
