"""Rounds in which every seed has a matrix of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.networks.channel import LinkMemory
from gossamer.seeding import SeedGroups

MOST_ROUNDS = 32
"""Most rounds drawn at once."""

MOST_NUMBERS = 2**20
"""Most numbers in the matrices drawn at once, where that is more than one round."""


@dataclass(frozen=True)
class SeededTalk:
    """One round of products with a doubly stochastic matrix per seed.

    Args:
        groups: which runs have which seed.
        narrow: W_t of every seed, `(S, n, n)`, in the precision of messages.
        exact: W_t in float64, for totals.
    """

    groups: SeedGroups
    narrow: Tensor
    exact: Tensor
    memory: ClassVar[LinkMemory] = ()

    def pull(self, z: Tensor) -> Tensor:
        """W_t z."""
        return self.groups.product(self.narrow, z)

    def push(self, z: Tensor) -> Tensor:
        """W_t z; what rounding takes from a message stays with its sender, see `Mixer`."""
        if z.dtype == self.narrow.dtype:
            return self.pull(z)
        sent = z.to(self.narrow.dtype).to(z.dtype)
        return self.groups.product(self.exact, sent).add_(z - sent)


class SeededRounds:
    """The matrices of every seed, drawn for several rounds at once and held.

    Args:
        groups: which runs have which seed.
        num_nodes: n.
        dtype: of the messages.
        draw: W_t of the given rounds, `(rounds, S, n, n)` in float64.
    """

    def __init__(
        self,
        groups: SeedGroups,
        num_nodes: int,
        dtype: torch.dtype,
        draw: Callable[[range], Tensor],
    ) -> None:
        self._groups, self._dtype, self._draw = groups, dtype, draw
        room = MOST_NUMBERS // (max(1, len(groups.distinct)) * num_nodes**2)
        self._length = max(1, min(MOST_ROUNDS, room))
        self._first, self._held = -1, [(torch.empty(0), torch.empty(0))]

    def at(self, t: int) -> SeededTalk:
        """The products of round t."""
        first = t - t % self._length
        if first != self._first:
            exact = self._draw(range(first, first + self._length)).to(self._groups.place.device)
            narrow = exact.to(self._dtype)
            self._first, self._held = first, list(zip(narrow, exact, strict=True))
        return SeededTalk(self._groups, *self._held[t - first])
