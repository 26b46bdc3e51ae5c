"""Rows that libraries multiply alike."""

import torch
from torch import Tensor


def aligned(z: Tensor) -> Tensor:
    """Z, its last axis filled up with zeros to a multiple of four.

    Rows that do not all begin at a multiple of 16 bytes are multiplied in different orders: equal
    rows of one matrix may then have products that differ in the last digit.

    >>> aligned(torch.ones(2, 3)).tolist()
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    lacking = -z.shape[-1] % 4
    return z if lacking == 0 else torch.nn.functional.pad(z, (0, lacking))
