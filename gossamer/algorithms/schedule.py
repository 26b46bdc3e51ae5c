"""Hyper-parameters that change from step to step."""

import dataclasses
import math
import numbers
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from gossamer.algorithms.admissible import AdmissibleSet, Positive, Real, Scalar, admissible_sets
from gossamer.errors import InvalidInput, refuse, require
from gossamer.source import name_of, source_of

if TYPE_CHECKING:

    class _Number(float):
        """A type checker takes a schedule where a method wants a number, as the method does."""
else:
    _Number = object


@dataclass(frozen=True, repr=False)
class Schedule(ABC, _Number):
    """A hyper-parameter as a function of the step t = 0, 1, …, to be given in place of a number.

    For a schedule of your own, give a function of t, or write a subclass: a frozen dataclass that
    defines `values`, and whose fields are numbers annotated with their admissible sets. A field may
    also be a tensor `(runs, 1)` with a number for each stacked run. Tensors are kept on the CPU in
    float64, wherever the method runs.
    """

    @abstractmethod
    def values(self, t: Tensor) -> Tensor:
        """The values at the steps `t`, a float64 tensor `(steps, 1, 1)` or `(steps, runs, 1)`.

        The second shape holds a number for each stacked run. `t` has one of these shapes, too.
        """

    @property
    def turns(self) -> list[Scalar]:
        """The steps at which the values are largest or smallest, as far as these are known."""
        return [0]

    def __post_init__(self) -> None:
        for name, admissible in admissible_sets(type(self)).items():
            value = as_schedule(getattr(self, name))
            value = value.to("cpu", torch.float64) if isinstance(value, Tensor) else value
            object.__setattr__(self, name, value)
            fits = isinstance(value, Schedule) or value in admissible
            found = repr(value) if isinstance(value, str) else value
            require(fits, f"{name} of {type(self).__name__}", found, str(admissible))

    def at(self, t: int) -> Scalar:
        """The value at step `t`: a number, or for stacked runs a tensor `(runs, 1)`."""
        (value,) = self.values(torch.full((1, 1, 1), t, dtype=torch.float64))
        return value if self.is_stacked else float(value)

    def require_within(self, name: str, admissible: AdmissibleSet) -> None:
        """Refuse the schedule if its value at one of its `turns` is not in `admissible`.

        The hyper-parameter is called `name` in the message.
        """
        for t in self.turns:
            at = torch.as_tensor(t, dtype=torch.float64)
            found = self.values(at.expand(1, *(at.shape if at.ndim else (1, 1))))
            self.require_values(name, admissible, at.flatten(), found)

    def require_values(
        self, name: str, admissible: AdmissibleSet, t: Tensor, values: Tensor
    ) -> None:
        """Refuse the schedule if one of `values` is not in `admissible`.

        `values` are the values of the schedule at the steps `t`. The hyper-parameter is called
        `name` in the message.
        """
        if values not in admissible:
            wrong = next(value for value in values.flatten().tolist() if value not in admissible)
            steps = f"steps {t.min():.0f} to {t.max():.0f}" if len(t) > 1 else f"step {t.max():.0f}"
            refuse(name, f"{self}, which is {wrong:g} at {steps}", str(admissible))

    # ------------------------------------------------------------------ stacked runs

    @property
    def tensors(self) -> list[Tensor]:
        """Those numbers of the schedule that are tensors."""
        own = [getattr(self, field.name) for field in dataclasses.fields(self)]
        inner = [z for value in own if isinstance(value, Schedule) for z in value.tensors]
        return [value for value in own if isinstance(value, Tensor)] + inner

    @cached_property
    def is_stacked(self) -> bool:
        """Whether every stacked run has its own value."""
        return any(z.ndim > 0 for z in self.tensors)

    def select(self, runs: Tensor) -> Self:
        """The same schedule for a subset of its stacked runs."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        inner = {k: v.select(runs) for k, v in own.items() if isinstance(v, Schedule)}
        tensors = {k: v[runs] for k, v in own.items() if isinstance(v, Tensor) and v.ndim > 0}
        return dataclasses.replace(self, **inner, **tensors)

    def of_run(self, run: int) -> "Schedule":
        """The schedule of one of the stacked runs, with plain numbers in place of tensors."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        inner = {k: v.of_run(run) for k, v in own.items() if isinstance(v, Schedule)}
        numbers = {k: v[run].item() for k, v in own.items() if isinstance(v, Tensor) and v.ndim > 0}
        return dataclasses.replace(self, **inner, **numbers)

    # ------------------------------------------------------------------ how it is written down

    def describe(self) -> dict[str, Any]:
        """Name of its class and its numbers, to restore it when stored results are read."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"schedule": type(self).__name__, **own}

    def __repr__(self) -> str:
        fields = [(getattr(self, field.name), field.default) for field in dataclasses.fields(self)]
        while fields and not isinstance(fields[-1][0], Tensor) and operator.eq(*fields[-1]):
            fields.pop()  # the default
        return f"{type(self).__name__}({', '.join(_shown(value) for value, _ in fields)})"


def _shown(value: Any) -> str:
    return f"{len(value)} numbers" if isinstance(value, Tensor) and value.ndim else repr(value)


@dataclass(frozen=True, repr=False)
class InversePower(Schedule):
    """α / (t + 1)^γ with α = `start` and γ = `exponent`; the default γ = 1/2 gives α/√(t + 1).

    >>> InversePower(0.1).at(3)
    0.05
    """

    start: Real
    exponent: Real = 0.5

    def values(self, t: Tensor) -> Tensor:
        """α / (t + 1)^γ."""
        return torch.exp(torch.log(t + 1) * -self.exponent) * self.start


@dataclass(frozen=True, repr=False)
class Linear(Schedule):
    """Goes linearly from `start` at step 0 to `end` at step k = `steps`, then stays constant.

    >>> [Linear(0.1, 4).at(t) for t in (0, 1, 4, 100)]
    [0.1, 0.075..., 0.0, 0.0]
    """

    start: Real
    steps: Positive
    end: Real = 0.0

    def values(self, t: Tensor) -> Tensor:
        """ω + (α − ω)(1 − s) with α = `start`, ω = `end`, s = min(1, t/k) and k = `steps`."""
        return (1 - (t / self.steps).clamp(max=1)) * (self.start - self.end) + self.end

    @property
    def turns(self) -> list[Scalar]:
        """Step 0, and the step at which `end` is reached."""
        return [0, self.steps]


@dataclass(frozen=True, repr=False)
class Cosine(Linear):
    """Goes from `start` to `end` along half a cosine, and is otherwise like `Linear`.

    >>> [round(Cosine(0.1, 100).at(t), 4) for t in (0, 25, 50, 100, 200)]
    [0.1, 0.0854, 0.05, 0.0, 0.0]
    """

    def values(self, t: Tensor) -> Tensor:
        """ω + r + r cos(πs) with r = (α − ω)/2 and α, ω and s as in `Linear.values`."""
        radius = (self.start - self.end) / 2
        height = torch.cos(t.clamp(max=self.steps) / self.steps * math.pi)
        return height * radius + (self.end + radius)


@dataclass(frozen=True, repr=False)
class WarmUp(Schedule):
    """Rises linearly to the first value of a schedule s, and follows s from step k = `steps` on.

    s is a schedule, a function or a number. Step k of the run is step 0 of s.

    >>> [WarmUp(Linear(1.0, 10), 4).at(t) for t in (0, 1, 3, 4, 5)]
    [0.25, 0.5, 1.0, 1.0, 0.9]
    """

    then: Real
    steps: Positive

    def values(self, t: Tensor) -> Tensor:
        """min(1, (t + 1)/k) · s(max(0, t − k)) with s = `then` and k = `steps`."""
        after = (t - self.steps).clamp(min=0)
        reached = self.then.values(after) if isinstance(self.then, Schedule) else self.then
        return ((t + 1) / self.steps).clamp(max=1) * reached

    @property
    def turns(self) -> list[Scalar]:
        """Step 0, and the turns of s = `then`, shifted by k = `steps`."""
        inner = self.then.turns if isinstance(self.then, Schedule) else [0]
        return [0, *(turn + self.steps for turn in inner)]


@dataclass(frozen=True, repr=False)
class FunctionSchedule(Schedule):
    """A schedule given by a function of your own, which takes the step t (an int).

    The function must return a number for every step of the run and for the step after the last.
    """

    function: Callable[[int], float]

    def __post_init__(self) -> None:
        require(callable(self.function), "function", repr(self.function), "a function of t")

    def values(self, t: Tensor) -> Tensor:
        """The value of the function at each step."""
        numbers = [self._value(int(step)) for step in t.flatten().tolist()]
        return torch.tensor(numbers, dtype=torch.float64).view(t.shape)

    def _value(self, t: int) -> float:
        try:
            return float(self.function(t))
        except Exception as reason:
            raise InvalidInput(
                f"{self}: fails at step {t} ({type(reason).__name__}: {reason}), "
                "need a number for every step and the one after the last"
            ) from reason

    def describe(self) -> dict[str, Any]:
        """The name and source code of the function; the schedule cannot be restored from them."""
        name, source = name_of(self.function), source_of(self.function)
        return {"schedule": type(self).__name__, "name": name, "source": source}

    def __repr__(self) -> str:
        return name_of(self.function)


def as_schedule(value: Any) -> Any:
    """A function of t as a schedule, and a fraction as a float; all else as it is."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral | np.number):
        return float(value)
    is_function = callable(value) and not isinstance(value, Schedule | type)
    return FunctionSchedule(value) if is_function else value
