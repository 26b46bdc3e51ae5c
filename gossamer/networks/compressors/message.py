"""Bytes of a message: numbers and single bits, put together and taken apart."""

import torch
from torch import Tensor

GATHER = 0x0102040810204080
"""Moves bit 0 of byte i to bit 56 + i, for the eight bytes of an integer."""

SPREAD = 0x0101010101010101
"""Copies a byte into all eight bytes of an integer."""

DIAGONAL = 0x8040201008040201 - 2**64
"""Bit i of byte i."""


def pack(bits: Tensor) -> Tensor:
    """Eight values 0 or 1, bool or uint8, in a byte: `(dim,)` to `(packed_bytes(dim),)`.

    >>> pack(torch.tensor([True, False, False, True]))
    tensor([9], dtype=torch.uint8)
    """
    padded = torch.nn.functional.pad(bits.view(torch.uint8), (0, -len(bits) % 8))
    return ((padded.view(torch.int64) * GATHER) >> 56).to(torch.uint8)


def unpack(packed: Tensor, dim: int) -> Tensor:
    """The first `dim` bits of what `pack` packed, as bool.

    >>> unpack(torch.tensor([9], dtype=torch.uint8), 4)
    tensor([ True, False, False,  True])
    """
    spread = (packed.to(torch.int64) * SPREAD) & DIAGONAL
    return spread.view(torch.uint8)[:dim] != 0


def packed_bytes(dim: int) -> int:
    """Bytes of `dim` bits."""
    return -(-dim // 8)


def join(*parts: Tensor) -> Tensor:
    """The bytes of one-dimensional tensors, one after the other."""
    return torch.cat([part.contiguous().view(torch.uint8) for part in parts])


def take(message: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The first `count` numbers of a message, and the rest of it."""
    end = count * dtype.itemsize
    return message[:end].clone().view(dtype), message[end:]  # a clone is aligned
