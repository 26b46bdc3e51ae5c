"""Differences in blocks of coordinates, each with its own scale.

One scale for all coordinates is set by the largest of them; under heavy tails, or where layers
differ, that one drowns the others. A block suffers from its own largest only.
"""

import torch
from torch import Tensor

DIGITS = 7
"""Binary digits of a unit after its first, as many as bfloat16 has."""

INTEGER = {4: torch.int32, 8: torch.int64}
"""Bytes of a number → integers with as many."""


def shape(dim: int, size: int) -> tuple[int, int]:
    """Number and width of the blocks: of `size` coordinates, or one of all where that is less.

    >>> shape(300, 128), shape(20, 128)
    ((3, 128), (1, 20))
    """
    width = min(dim, size)
    return -(-dim // width), width


def differences(copy: Tensor, z: Tensor, size: int) -> Tensor:
    """z − ĥ in the dtype of ĥ, `(…, blocks, width)`, the last block filled up with zeros."""
    dim = copy.shape[-1]
    blocks, width = shape(dim, size)
    padded = copy.new_empty(*copy.shape[:-1], blocks * width)
    torch.sub(z, copy, out=padded[..., :dim])
    padded[..., dim:] = 0
    return padded.view(*copy.shape[:-1], blocks, width)


def split(values: Tensor, size: int) -> Tensor:
    """`(dim,)` as `(blocks, width)`, the last block filled up with zeros."""
    count, width = shape(len(values), size)
    return torch.nn.functional.pad(values, (0, count * width - len(values))).view(count, width)


def moved(copy: Tensor, moves: Tensor) -> Tensor:
    """ĥ + moves, which are `(…, blocks, width)`."""
    return copy + moves.flatten(-2)[..., : copy.shape[-1]]


def steps(differences: Tensor, most: float) -> Tensor:
    """For each block a unit in which its largest entry is at most `most`, `(…, blocks, 1)`.

    It is rounded up to `DIGITS` binary digits. With all its digits, what rounding changes in the
    largest entry would change the copies of all others, and grow from step to step: two runs that
    differ in the last digit would part after some hundred steps.
    """
    least = torch.finfo(differences.dtype).tiny
    return rounded_up(largest_size(differences).div_(most).clamp_min_(least))


def rounded_up(positive: Tensor) -> Tensor:
    """The next number with `DIGITS` binary digits after the first, or the number itself.

    >>> rounded_up(torch.tensor([1.0, 1.001, 3.0]))
    tensor([1.0000, 1.0078, 3.0000])
    """
    spare = {4: 23, 8: 52}[positive.itemsize] - DIGITS
    bits = positive.view(INTEGER[positive.itemsize])
    return (((bits + (2**spare - 1)) >> spare) << spare).view(positive.dtype)


def largest_size(differences: Tensor) -> Tensor:
    """max |z − ĥ| over each block, `(…, blocks, 1)`.

    Sizes are in the same order as the integers with their bits, whose maximum takes half the
    time; what is not a number is the largest.
    """
    sizes = differences.abs().view(INTEGER[differences.itemsize])
    return sizes.amax(-1, keepdim=True).view(differences.dtype)
