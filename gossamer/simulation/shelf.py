"""What is already there of the runs of a simulation: nothing, unless there is a store."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from gossamer.simulation.block import Block, Piece
from gossamer.simulation.leg import Leg


class Shelf:
    """An empty shelf: every run begins at the start, and nothing is kept.

    Args:
        num_runs: of the simulation.
    """

    def __init__(self, num_runs: int) -> None:
        self.turn = math.inf
        """Seconds after which a block is to be handed over."""
        self.pieces: list[tuple[Tensor, Piece]] = []
        self.reached = torch.zeros(num_runs, dtype=torch.int64)
        self._entered = torch.zeros(num_runs, dtype=torch.bool)

    def stored(self, going_on: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        """What is there of the runs, of those that go on, of which nothing was computed yet."""
        resting = going_on & ~self._entered
        for ids, piece in self.pieces:
            chosen = resting[ids]
            yield ids[chosen], piece.select(chosen)

    def enter(self, going_on: Tensor, end: int) -> list[Leg]:
        """The runs, of those that go on, that have to be computed from now on to reach `end`."""
        entering = going_on & ~self._entered & (self.reached < end)
        self._entered |= entering
        return self._legs(entering.nonzero().flatten())

    def keep(self, block: Block, piece: Piece) -> None:
        """Put away what came of a block."""

    def _legs(self, ids: Tensor) -> list[Leg]:
        return [Leg(ids, None)]
