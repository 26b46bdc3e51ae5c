"""Lanes: numbers that keep the messages of several optimizers of the same processes apart."""

import gc
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from gossamer.distributed.transport import LANES
from gossamer.errors import refuse


class Lanes:
    """The lanes that those who send messages hold in this process.

    All processes of a holder agree on its lane: each makes an offer, and all take the same lane of
    what all have offered. That is one that none of them has used before, as long as there are such,
    and then one whose holder is gone: it has no message under way.

    >>> class Holder: pass
    >>> lanes, first, second = Lanes(), Holder(), Holder()
    >>> lanes.take(first, [lanes.offer(first)]), lanes.take(second, [lanes.offer(second)])
    (0, 1)
    """

    def __init__(self) -> None:
        self.taken = 0
        """How many this process has taken so far."""
        self._turns: WeakKeyDictionary[object, int] = WeakKeyDictionary()
        """Holder → how many had been taken before it."""

    def offer(self, holder: object) -> dict[str, Any]:
        """What this process says of the lanes to those who agree on the one of `holder`."""
        if len(self._turns) >= LANES // 2:
            gc.collect()  # holders that nobody refers to any more live until then
        others = [turn % LANES for one, turn in self._turns.items() if one is not holder]
        return {"turn": self._turns.get(holder, self.taken), "others": others}

    def take(self, holder: object, offers: Sequence[dict[str, Any]]) -> int:
        """The lane of `holder`, the same on all who have made these offers."""
        held = {lane for offer in offers for lane in offer["others"]}
        first = max(offer["turn"] for offer in offers)
        turn = next((k for k in range(first, first + LANES) if k % LANES not in held), None)
        if turn is None:
            refuse("optimizers", f"more than {LANES} in one process", f"at most {LANES} at a time")
        self._turns[holder], self.taken = turn, max(self.taken, turn + 1)
        return turn % LANES
