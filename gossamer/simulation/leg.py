"""Runs at the same step, between two pieces of work."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gossamer.simulation.checkpoint import Checkpoint, join_checkpoints


class Leg(NamedTuple):
    """Runs of a simulation that are at the same step."""

    ids: Tensor
    """Their numbers in the simulation, `(runs,)`."""

    begin: Checkpoint | None
    """Where they are; None is the start."""

    @property
    def t(self) -> int:
        """The step at which they are."""
        return 0 if self.begin is None else self.begin.t

    def select(self, runs: Tensor) -> "Leg":
        """The same for some of the runs, a mask or an index."""
        return Leg(self.ids[runs], None if self.begin is None else self.begin.select(runs))

    def keep(self, going_on: Tensor) -> "Leg":
        """The runs that `going_on`, over all runs of the simulation, selects."""
        mask = going_on[self.ids]
        return self if bool(mask.all()) else self.select(mask)

    def split(self, width: int) -> "list[Leg]":
        """The same runs, at most `width` together."""
        if len(self.ids) <= width:
            return [self] if len(self.ids) > 0 else []
        return [self.select(part) for part in torch.arange(len(self.ids)).split(width)]


def join(legs: Sequence[Leg]) -> list[Leg]:
    """The same runs, those at the same step together."""
    at: dict[int, list[Leg]] = {}
    for leg in legs:
        at.setdefault(leg.t, []).append(leg)
    return [_join(together) for together in at.values()]


def _join(legs: list[Leg]) -> Leg:
    begins = [leg.begin for leg in legs if leg.begin is not None]
    whole = begins[0] if len(begins) == 1 else join_checkpoints(begins) if begins else None
    return Leg(torch.cat([leg.ids for leg in legs]), whole)
