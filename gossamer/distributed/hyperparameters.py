"""Hyper-parameters that live in param groups, where schedulers change them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require


class ScheduledAlgorithm:
    """`algorithm` with the hyper-parameters that param groups hold at the moment.

    A hyper-parameter on which the groups differ becomes a tensor with one value per coordinate.

    >>> from gossamer.algorithms import DSGD
    >>> scheduled = ScheduledAlgorithm(DSGD(lr=0.1))
    >>> scheduled.at([{"lr": 0.1}, {"lr": 0.2}], sizes=[1, 2], like=torch.zeros(3))
    DSGD(lr=tensor([0.1000, 0.2000, 0.2000]))
    """

    def __init__(self, algorithm: Algorithm[Any]) -> None:
        self._algorithm = self._current = algorithm
        self._values: dict[str, list[Any]] = {}

    def at(
        self, groups: Sequence[dict[str, Any]], sizes: Sequence[int], like: Tensor
    ) -> Algorithm[Any]:
        """The algorithm of this step; `sizes` are the groups' shares of `like`, `(dim,)`."""
        names = self._algorithm.hyperparameters
        values = {name: [_value(group[name]) for group in groups] for name in names}
        if values != self._values:
            each = {name: _joint(name, held, sizes, like) for name, held in values.items()}
            self._current = dataclasses.replace(self._algorithm, **each)
            self._values = values
        return self._current


def _value(held: Any) -> Any:
    """Schedulers change a tensor in place, so its number is read anew."""
    return held.item() if isinstance(held, Tensor) else held


def _joint(name: str, values: list[Any], sizes: Sequence[int], like: Tensor) -> Any:
    if all(value == values[0] for value in values):
        return values[0]
    numbers = all(isinstance(value, int | float) for value in values)
    require(numbers, name, values, "the same in all param groups")
    parts = [like.new_full((s,), v) for s, v in zip(sizes, values, strict=True)]
    return torch.cat(parts)
