"""Rounds in which every seed has a matrix of its own."""

from collections.abc import Callable, Sequence
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


Matrices = Tensor | list[Tensor]
"""Of every seed: `(S, n, n)`, or a sparse matrix for each."""


@dataclass(frozen=True)
class SeededTalk:
    """One round of products with a doubly stochastic matrix per seed.

    Args:
        groups: which runs have which seed.
        narrow: W_t of every seed, in the precision of messages.
        exact: W_t in float64, for totals.
    """

    groups: SeedGroups
    narrow: Matrices
    exact: Matrices
    memory: ClassVar[LinkMemory] = ()

    def pull(self, z: Tensor) -> Tensor:
        """W_t z."""
        return self.groups.product(self.narrow, z)

    def push(self, z: Tensor) -> Tensor:
        """W_t z; what rounding takes from a message stays with its sender, see `Mixer`."""
        message = self.narrow[0].dtype
        if z.dtype == message:
            return self.pull(z)
        sent = z.to(message).to(z.dtype)
        return self.groups.product(self.exact, sent).sub_(sent.sub_(z))


class SeededRounds:
    """The matrices of every seed, drawn for several rounds at once and held.

    Args:
        groups: which runs have which seed.
        size: numbers in a matrix.
        dtype: of the messages.
        draw: W_t of the given rounds, in float64.
    """

    def __init__(
        self,
        groups: SeedGroups,
        size: int,
        dtype: torch.dtype,
        draw: Callable[[range], Sequence[Matrices]],
    ) -> None:
        self._groups, self._dtype, self._draw = groups, dtype, draw
        room = MOST_NUMBERS // (max(1, len(groups.distinct)) * size)
        self._length = max(1, min(MOST_ROUNDS, room))
        self._first, self._held = -1, list[tuple[Matrices, Matrices]]()

    def at(self, t: int) -> SeededTalk:
        """The products of round t."""
        first = t - t % self._length
        if first != self._first:
            drawn = self._draw(range(first, first + self._length))
            self._first, self._held = first, [self._both(matrices) for matrices in drawn]
        return SeededTalk(self._groups, *self._held[t - first])

    def _both(self, drawn: Matrices) -> tuple[Matrices, Matrices]:
        """In the precision of messages and exact, where the runs are."""
        device = self._groups.place.device
        if isinstance(drawn, Tensor):
            return drawn.to(device, self._dtype), drawn.to(device)
        exact = [matrix.to(device) for matrix in drawn]
        return [matrix.to(self._dtype) for matrix in exact], exact
