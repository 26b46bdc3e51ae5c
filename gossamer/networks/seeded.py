"""Rounds in which every seed has a matrix of its own."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.networks.channel import LinkMemory
from gossamer.seeding import SeedGroups


@dataclass(frozen=True)
class SeededTalk:
    """One round of products with a doubly stochastic matrix per seed.

    Args:
        groups: which runs have which seed.
        exact: W_t of every seed, `(S, n, n)` in float64.
        dtype: of the messages.
    """

    groups: SeedGroups
    exact: Tensor
    dtype: torch.dtype
    memory: ClassVar[LinkMemory] = ()

    def pull(self, z: Tensor) -> Tensor:
        """W_t z."""
        return self.groups.product(self.exact.to(z.dtype), z)

    def push(self, z: Tensor) -> Tensor:
        """W_t z; what rounding takes from a message stays with its sender, see `Mixer`."""
        if z.dtype == self.dtype:
            return self.pull(z)
        sent = z.to(self.dtype).to(z.dtype)
        return self.groups.product(self.exact, sent).add_(z).sub_(sent)
