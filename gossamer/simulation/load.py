"""How many cores other processes leave free."""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from gossamer.native.threads import our_cores

INTERVAL = 0.1
"""Seconds between two looks; the counters advance by hundredths."""

PARTLY_TAKEN = 0.25
"""Cores that others may take of one that still counts as free: threads wait for the slowest."""


class Load:
    """Cores left free, from what all processes and this one computed since the last look.

    Args:
        cores: how many there are.
        all_seconds: CPU seconds of all processes so far, None where the system does not tell.
        own_seconds: CPU seconds of this process so far.
        clock: seconds.
    """

    def __init__(
        self,
        cores: int,
        all_seconds: Callable[[], float | None],
        own_seconds: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cores, self._clock = cores, clock
        self._all_seconds, self._own_seconds = all_seconds, own_seconds
        self._free = 1  # until there was time to look
        self._look()

    def free_cores(self) -> int:
        """At least 1; all of them where the system does not tell."""
        elapsed = self._clock() - self._looked_at
        if self._all is None:
            return self._cores
        if elapsed >= INTERVAL:
            everybody, own = self._all, self._own
            self._look()
            if self._all is not None:
                others = max(0.0, self._all - everybody - (self._own - own)) / elapsed
                self._free = max(1, math.floor(self._cores - others + PARTLY_TAKEN))
        return self._free

    def _look(self) -> None:
        self._looked_at = self._clock()
        self._all, self._own = self._all_seconds(), self._own_seconds()


def seconds_on_our_cores() -> float | None:
    """CPU seconds that our cores have worked, without niced work, which makes room for ours."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        counters = [line.split() for line in lines if line.startswith("cpu")]
        rows = {name: list(map(int, values)) for name, *values in counters}
        worked = [rows[f"cpu{core}"] for core in our_cores()]
        ticks = sum(user + sum(rest) for user, _, *rest in map(_without_idle, worked))
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, KeyError, ValueError):
        return None


def _without_idle(row: list[int]) -> list[int]:
    """user, nice, system, irq, softirq, steal of user, nice, system, idle, iowait, irq, …."""
    return [*row[:3], *row[5:8]]
