"""How a run ended."""

from enum import Enum

from torch import Tensor


class Status(Enum):
    """How a run ended: finished, diverged or ended early; the value of a member explains it."""

    FINISHED = "finished: it took all its steps"
    DIVERGED = "diverged: its parameters are no longer finite"
    ENDED_EARLY = "ended early: other settings of the search were more promising"

    @property
    def short(self) -> str:
        """The value without the reason, e.g. "diverged"."""
        return self.value.partition(":")[0]

    def __str__(self) -> str:
        return self.value


def statuses(diverged_at: Tensor, steps_taken: Tensor, steps: int) -> list[Status]:
    """The status of every run of flat `diverged_at` and `steps_taken`, of `steps` asked for."""
    return [
        _status(diverged, taken, steps)
        for diverged, taken in zip(diverged_at.tolist(), steps_taken.tolist(), strict=True)
    ]


def _status(diverged_at: int, steps_taken: int, steps: int) -> Status:
    if diverged_at >= 0:
        return Status.DIVERGED
    return Status.FINISHED if steps_taken == steps else Status.ENDED_EARLY


def count(found: list[Status]) -> str:
    """How many of each.

    >>> count([Status.FINISHED, Status.FINISHED, Status.DIVERGED])
    '2 finished, 1 diverged'
    """
    counts = [(found.count(status), status) for status in Status]
    words = [f"{number} {status.short}" for number, status in counts if number]
    return ", ".join(words)
