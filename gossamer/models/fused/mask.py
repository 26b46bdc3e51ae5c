"""Dropout masks that are never kept: drawn from a seed, and from the same seed again."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.triton_language import jit, tl


def mask_seed(device: torch.device) -> Tensor:
    """A seed for the masks of one layer, `(1,)`, drawn from torch's generator of the device."""
    return torch.randint(2**62, (1,), device=device)


@jit
def kept(seed, place, dropout):
    """1/(1 − dropout) at the places that are kept, 0 at the others."""
    uniform = tl.rand(tl.load(seed), place.to(tl.int32), 7)  # rounds, enough for all known tests
    return tl.where(uniform >= dropout, 1 / (1 - dropout), 0.0)
