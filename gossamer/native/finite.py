"""Whether long vectors are finite, found out in one pass over memory."""

import ctypes
import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from gossamer.native.build import compiler, library
from gossamer.native.passes import LONG, pass_over
from gossamer.native.precisions import TYPES

SOURCE = """\
#define BLOCK 64
#define TOTAL(Z) \\
void total_##Z(long begin, long end, void **pieces, double *total) \\
{ \\
    const Z *z = pieces[0]; \\
    Z sum[BLOCK] = {0}; \\
    for (long at = begin; at < end; at += BLOCK) { \\
        const int size = end - at < BLOCK ? end - at : BLOCK; \\
        for (int j = 0; j < size; j++) sum[j] += z[at + j]; \\
    } \\
    for (int j = 0; j < BLOCK; j++) *total += sum[j]; \\
}
TOTAL(float)
TOTAL(double)
"""


def surely_finite(pieces: Sequence[Tensor]) -> bool:
    """Whether the sum over all of a long vector on the CPU is finite, as then all its numbers are.

    False also where there is no C compiler, and for short vectors.

    >>> surely_finite([torch.ones(3)])
    False
    """
    kind, on_cpu = pieces[0].dtype, pieces[0].device.type == "cpu"
    known = on_cpu and kind in (torch.float32, torch.float64)
    if not known or sum(map(len, pieces)) < LONG or _program() is None:
        return False
    (total,) = pass_over(getattr(_program(), f"total_{TYPES[kind]}"), [pieces], sums=1)
    return math.isfinite(total)


@cache
def _program() -> ctypes.CDLL | None:
    return library(SOURCE) if compiler() else None
