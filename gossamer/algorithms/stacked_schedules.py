"""Hyper-parameters of stacked runs: one for each, numbers and schedules alike, as one."""

import copy
import dataclasses
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Real, admissible_sets
from gossamer.algorithms.schedule import FunctionSchedule, Schedule
from gossamer.interval import Interval


@dataclass(frozen=True, repr=False)
class Constant(Schedule):
    """A number among schedules."""

    value: Real

    def values(self, t: Tensor) -> Tensor:
        """The number."""
        return torch.as_tensor(self.value, dtype=t.dtype).view(1, -1, 1).expand(len(t), -1, 1)


@dataclass(frozen=True, repr=False)
class Stacked(Schedule):
    """One schedule for each run of a stack: the `rows[r]`-th of those that `parts` make for run r.

    Args:
        parts: each one schedule, or several of its kind in tensors `(several, 1)`.
        rows: `(runs, 1)`.
    """

    parts: tuple[Schedule, ...]
    rows: Tensor

    def __post_init__(self) -> None:
        """What `stacked` makes fits together."""

    def values(self, t: Tensor) -> Tensor:
        """Every part once, then the rows of the runs."""
        return torch.cat([part.values(t) for part in self.parts], 1)[:, self.rows[:, 0]]

    @property
    def tensors(self) -> list[Tensor]:
        """What belongs to the runs."""
        return [self.rows]

    def select(self, runs: Tensor) -> Self:
        """The same schedule for a subset of its stacked runs."""
        return dataclasses.replace(self, rows=self.rows[runs])

    def of_run(self, run: int) -> Schedule:
        """The part that makes it, at its row there."""
        row = int(self.rows[run])
        for part in self.parts:
            made = len(part.tensors[0]) if part.is_stacked else 1
            if row < made:
                return part.of_run(row) if part.is_stacked else part
            row -= made
        raise IndexError(run)

    def __repr__(self) -> str:
        return f"{len(self.rows)} schedules"


@dataclass(frozen=True, repr=False)
class InTensors(Schedule):
    """A schedule whose values are tensors `(1, 1)`, rounded as those of `Stacked` schedules."""

    inner: Schedule

    def __post_init__(self) -> None:
        """Nothing to check: the schedule has been."""

    @cached_property
    def is_stacked(self) -> bool:
        """As if every run had its own value."""
        return True

    def values(self, t: Tensor) -> Tensor:
        """Those of the schedule."""
        return self.inner.values(t)

    def of_run(self, run: int) -> Schedule:
        """The schedule."""
        return self.inner


def in_tensors(value: Any) -> Any:
    """A number or schedule that all runs share, computed with as one of many for one run each.

    >>> in_tensors(0.1)
    tensor(0.1000, dtype=torch.float64)
    """
    if isinstance(value, Schedule):
        return value if value.is_stacked else InTensors(value)
    return torch.as_tensor(value, dtype=torch.float64)


def stacked(values: Sequence[Any]) -> Any:
    """One hyper-parameter for runs with these numbers and schedules, one for each run.

    Schedules of one kind are evaluated together, whatever their numbers.

    >>> from gossamer.algorithms import Linear
    >>> stacked([0.1, Linear(0.1, 10), Linear(0.2, 10)]).at(5)
    tensor([[0.1000],
            [0.0500],
            [0.1000]], dtype=torch.float64)
    >>> stacked([0.1, 0.1])
    0.1
    """
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return distinct[0]
    if not any(isinstance(value, Schedule) for value in distinct):
        return torch.tensor(values, dtype=torch.float64)[:, None]
    kinds: dict[Any, list[Any]] = {}
    for value in distinct:
        kinds.setdefault(_kind(value), []).append(value)
    parts = tuple(_together(alike) for alike in kinds.values())
    row = {value: k for k, value in enumerate(v for alike in kinds.values() for v in alike)}
    return Stacked(parts, torch.tensor([row[value] for value in values])[:, None])


def in_floats(value: Any) -> Any:
    """A hyper-parameter whose numbers are floats, 1 and 1.0 the same; a constant is its number.

    >>> from gossamer.algorithms import Linear, WarmUp
    >>> in_floats(WarmUp(Linear(1, 10), 4)), in_floats(Constant(1)), in_floats("a word")
    (WarmUp(Linear(1.0, 10.0), 4.0), 1.0, 'a word')
    """
    if isinstance(value, Constant) and not value.is_stacked:
        return in_floats(value.value)
    if isinstance(value, Schedule):
        same = copy.copy(value)
        vars(same).update({name: in_floats(part) for name, part in vars(value).items()})
        return same
    number = value.item() if isinstance(value, Tensor) and not value.ndim else value
    counts = isinstance(number, numbers.Real) and not isinstance(number, bool)
    return float(number) if counts else number


def _kind(value: Any) -> Any:
    """What schedules that can be evaluated together share: all but the numbers of intervals."""
    if not isinstance(value, Schedule):
        return value if callable(value) else float
    if isinstance(value, FunctionSchedule):
        return type(value), value.function
    sets = admissible_sets(type(value))
    held = {name: getattr(value, name) for name in sets}
    numbers = {name for name, admissible in sets.items() if isinstance(admissible, Interval)}
    return type(value), *(_kind(part) if k in numbers else part for k, part in held.items())


def _together(alike: Sequence[Any]) -> Schedule:
    """Schedules of one kind as one schedule."""
    if not isinstance(alike[0], Schedule):
        return Constant(stacked(alike))
    if len(alike) == 1:
        return alike[0]
    names = [field.name for field in dataclasses.fields(alike[0])]
    columns = {name: _column([getattr(one, name) for one in alike]) for name in names}
    return dataclasses.replace(alike[0], **columns)


def _column(values: Sequence[Any]) -> Any:
    schedules = isinstance(values[0], Schedule) and any(v != values[0] for v in values)
    return _together(values) if schedules else stacked(values)
