"""Do the ranks get on after they have regrouped, or do they fail again at the same place?"""

from collections.abc import Mapping

TRIES = 3
"""Failures at one place: connections may break twice, but what can never work must end."""


class Standstill:
    """Regroupings in a row between which no rank has done anything.

    Ranks that wait for different things, e.g. one for an average and the others for a step, find
    each other silent, regroup, and wait for the same things again.

    >>> standstill, done = Standstill(), {0: (9, 2), 1: (9, 2)}
    >>> [standstill.lasts(done) for _ in range(TRIES)], standstill.lasts({0: (9, 2), 1: (10, 2)})
    ([False, False, True], False)
    """

    def __init__(self) -> None:
        self._done: Mapping[int, tuple[int, int]] = {}
        self._times = 0

    def lasts(self, done: Mapping[int, tuple[int, int]]) -> bool:
        """Whether it was tried often enough; `done` is how far each rank has come, by number."""
        self._times = self._times + 1 if done == self._done else 1
        self._done = done
        return self._times >= TRIES
