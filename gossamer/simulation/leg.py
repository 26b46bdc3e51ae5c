"""Runs at the same step, between two pieces of work."""

from collections.abc import Iterable, Iterator
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

    def part(self, runs: range) -> "Leg":
        """The same for consecutive runs, as far as there are as many."""
        inside = torch.arange(len(self.ids))[runs.start : runs.stop]
        return self if len(inside) == len(self.ids) else self.select(inside)


def restacked(legs: Iterable[Leg], width: int) -> Iterator[Leg]:
    """The same runs, `width` of those at the same step together, and fewer of the last.

    A leg is read when the ones before it are in their places, and not copied where it fits.
    """
    waiting: dict[int, list[Leg]] = {}
    for leg in legs:
        place, beside = 0, waiting.setdefault(leg.t, [])
        while place < len(leg.ids):
            room = width - sum(len(one.ids) for one in beside)
            beside.append(leg.part(range(place, place + room)))
            place += room
            if place <= len(leg.ids):
                yield _join(beside)
                beside.clear()
    yield from (_join(beside) for beside in waiting.values() if beside)


def _join(legs: list[Leg]) -> Leg:
    begins = [leg.begin for leg in legs if leg.begin is not None]
    whole = begins[0] if len(begins) == 1 else join_checkpoints(begins) if begins else None
    return Leg(torch.cat([leg.ids for leg in legs]), whole)
