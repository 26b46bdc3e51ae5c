"""Ranks that have data for different numbers of steps, and come to one end."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import SupportsIndex

from torch import Tensor

from gossamer.distributed.company import Company
from gossamer.errors import refuse, require, whole

LONGEST_PAUSE = 0.5
"""Seconds from one step to the next of a rank that waits for others to end."""

Repeat = Callable[[Tensor, int], int]
"""Takes a step with this gradient, and the hyper-parameters of this step; returns the next step."""


class Unequal(ABC):
    """What a rank knows within `until_all_end`, and how it comes to the end of all.

    Args:
        grad: the gradient that it repeats until it has computed one.
    """

    end: float = math.inf
    """The step at which all end, if that is known."""

    def __init__(self, grad: Tensor) -> None:
        self.grad = grad

    @property
    def someone_has_ended(self) -> bool:
        """Whether some rank is known to have come to the end of its data."""
        return False

    def require_announced(self, t: int) -> None:
        """Refuse step `t` if no rank has announced so many: the others do not take it."""
        found, need = f"step {t + 1}", f"at most {self.end}, the most that a rank announced"
        require(t < self.end, "steps", found, need, "pass the number of steps to until_all_end(…)")

    @abstractmethod
    def go_on(self, t: int, repeat: Repeat) -> int:
        """From step `t`, repeat the last gradient until all ranks end; returns where they do."""


class Announced(Unequal):
    """Ranks that wait for each other: all take as many steps as one of them at most announced.

    Args:
        grad: the gradient that this rank repeats until it has computed one.
        company: all ranks.
        t: the step at which they begin.
        steps: how many this rank announces.
    """

    def __init__(self, grad: Tensor, company: Company, t: int, steps: SupportsIndex | None) -> None:
        super().__init__(grad)
        if steps is None:
            way_out = "pass it, e.g. len(batches), or wait=False"
            refuse("steps", None, "how many this rank will take", way_out)
        own = whole("steps", steps, 0)
        self.end = t + int(max(company.gather(lambda: own)))

    def go_on(self, t: int, repeat: Repeat) -> int:
        """From step `t`, take those that others announced."""
        while t < self.end:
            t = repeat(self.grad, t)
        return t


class AtOwnPace(Unequal):
    """Ranks that do not wait for each other: each goes on until it hears that all have ended.

    Args:
        grad: the gradient that this rank repeats until it has computed one.
        company: all ranks.
        t: the step at which this rank begins.
    """

    def __init__(self, grad: Tensor, company: Company, t: int) -> None:
        super().__init__(grad)
        self._company, self._ends = company, company.ends()
        self._began_with, self._began_at = t, time.monotonic()

    @property
    def someone_has_ended(self) -> bool:
        """Whether some rank is known to have come to the end of its data."""
        return self._ends is not None and bool(self._ends.told(self._company.numbers))

    def go_on(self, t: int, repeat: Repeat) -> int:
        """Take steps as fast as until step `t`, which do not count; returns the largest `t`."""
        taken = max(1, t - self._began_with)
        pause = min((time.monotonic() - self._began_at) / taken, LONGEST_PAUSE)
        if self._ends:
            self._ends.tell(self._company.number)
        while not self._all_have_ended():
            next_one = time.monotonic() + pause
            repeat(self.grad, t)
            time.sleep(max(0.0, next_one - time.monotonic()))
        return int(max(self._company.gather(lambda: t)))

    def _all_have_ended(self) -> bool:
        everyone = self._company.numbers
        return self._ends is None or self._ends.told(everyone) >= set(everyone)
