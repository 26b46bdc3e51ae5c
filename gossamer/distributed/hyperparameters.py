"""Hyper-parameters that live in param groups, where torch's schedulers change them."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, within


class ScheduledAlgorithm:
    """`algorithm` with the hyper-parameters that param groups hold at the moment.

    A hyper-parameter on which the groups differ becomes a tensor with one value per coordinate.
    One that has a `Schedule` follows it: the groups show its value, and nobody else may set it.

    >>> from gossamer.algorithms import DSGD
    >>> scheduled = ScheduledAlgorithm(DSGD(lr=0.1))
    >>> scheduled.at(0, [{"lr": 0.1}, {"lr": 0.2}], sizes=[1, 2], like=torch.zeros(3))
    DSGD(lr=tensor([0.1000, 0.2000, 0.2000]))
    """

    def __init__(self, algorithm: Algorithm[Any]) -> None:
        self._algorithm = self._current = algorithm
        self._values: dict[str, list[Any]] = {}
        self._shown = {name: algorithm.at(0).arguments[name] for name in algorithm.scheduled}

    def at(
        self, t: int, groups: Sequence[dict[str, Any]], sizes: Sequence[int], like: Tensor
    ) -> Algorithm[Any]:
        """The algorithm of step `t`; `sizes` are the groups' shares of `like`, `(dim,)`."""
        self._follow_schedules(t, groups)
        names = self._algorithm.arguments
        values = {name: [value_of(group[name]) for group in groups] for name in names}
        if values != self._values:
            each = {name: _joint(name, held, sizes, like) for name, held in values.items()}
            self._current = dataclasses.replace(self._algorithm, **each)
            self._values = values
        return self._current

    def _follow_schedules(self, t: int, groups: Sequence[dict[str, Any]]) -> None:
        """Show the values of step `t` in the groups, where those of the last step must stand."""
        if not self._algorithm.scheduled:
            return
        now = self._algorithm.at(t)
        for name in self._algorithm.scheduled:
            for group in groups:
                self._require_untouched(name, group[name], t)
                group[name] = getattr(now, name)
            self._shown[name] = getattr(now, name)

    def _require_untouched(self, name: str, held: Any, t: int) -> None:
        """Refuse a value that somebody else has set; a state that was loaded has its own last."""
        if held == self._shown[name]:
            return
        schedule = getattr(self._algorithm, name)
        last = schedule.at(max(0, t - 1))
        found, need = f"{float(held):g} in a param group", f"{last:g} of its schedule, {schedule}"
        way_out = "give the method a number, which param groups and torch's schedulers may change"
        require(math.isclose(float(held), last, rel_tol=1e-9), name, found, need, way_out)


class WeightDecay:
    """α λ of every coordinate, from the `lr` and the `weight_decay` of its param group.

    Decoupled decay, as of SGDW and AdamW: whatever direction a method takes, and however it
    normalizes or clips it, x moves by −α λ x besides.

    >>> groups = [{"lr": 0.5, "weight_decay": 0.2}, {"lr": 0.5, "weight_decay": 0.0}]
    >>> WeightDecay().at(groups, sizes=[1, 2], like=torch.zeros(3))
    tensor([0.1000, 0.0000, 0.0000])
    """

    def __init__(self) -> None:
        self._values: list[float] = []
        self._current: float | Tensor = 0.0

    def at(
        self, groups: Sequence[dict[str, Any]], sizes: Sequence[int], like: Tensor
    ) -> float | Tensor:
        """One number, or one per coordinate of `like`; `sizes` are the groups' shares of it."""
        values = [_decay(group) for group in groups]
        if values != self._values:
            self._current = _joint("weight_decay", values, sizes, like)
            self._values = values
        return self._current


def require_weight_decay(group: Mapping[str, Any]) -> None:
    """Refuse a weight decay that is no number of at least 0, or that has no step to go with."""
    held = group["weight_decay"]
    decay = within("weight_decay", held, NONNEGATIVE, "0 for none")
    need = "a method with a step size lr"
    require(decay == 0 or "lr" in group, "weight_decay", f"{held} and no lr", need, "use 0")


def _decay(group: Mapping[str, Any]) -> float:
    weight_decay = float(value_of(group["weight_decay"]))
    return float(value_of(group["lr"])) * weight_decay if weight_decay else 0.0


def value_of(held: Any) -> Any:
    """Python's number: schedulers change a tensor in place, and JSON knows none of NumPy's.

    >>> value_of(torch.tensor(0.5)), value_of(np.float32(0.5))
    (0.5, 0.5)
    """
    return held.item() if isinstance(held, Tensor | np.generic) else held


def _joint(name: str, values: list[Any], sizes: Sequence[int], like: Tensor) -> Any:
    if all(value == values[0] for value in values):
        return values[0]
    numbers = all(isinstance(value, int | float) for value in values)
    require(numbers, name, values, "the same in all param groups")
    parts = [like.new_full((s,), v) for s, v in zip(sizes, values, strict=True)]
    return torch.cat(parts)
