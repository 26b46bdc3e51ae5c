"""Schedules rebuilt from their descriptions in stored results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms.schedule import Cosine, InversePower, Linear, Schedule, WarmUp
from gossamer.errors import InvalidInput

SCHEDULES: dict[str, type[Schedule]] = {
    kind.__name__: kind for kind in (InversePower, Linear, Cosine, WarmUp)
}
"""Name → kind; one of your own that is put here can be read from results and typed."""


@dataclass(frozen=True, repr=False)
class Described(Schedule):
    """A schedule of a stored result that cannot be rebuilt from its description."""

    facts: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Nothing to check."""

    def values(self, t: Tensor) -> Tensor:
        """Unknown."""
        need = "the function or class itself, because results keep only its source code"
        raise InvalidInput(f"{self}: {self.facts}; need {need}; give it again")

    def describe(self) -> dict[str, Any]:
        """The stored description."""
        return dict(self.facts)

    def __repr__(self) -> str:
        return str(self.facts.get("name", self.facts["schedule"]))


def from_description(value: Any) -> Any:
    """A hyper-parameter read from JSON: a described schedule is rebuilt, all else stays as it is.

    >>> from_description(WarmUp(Cosine(0.1, 100), 10).describe())
    WarmUp(Cosine(0.1, 100), 10)
    """
    if not isinstance(value, Mapping) or "schedule" not in value:
        return value
    kind = SCHEDULES.get(value["schedule"])
    if kind is None:
        return Described(value)
    return kind(**{k: _number(from_description(v)) for k, v in value.items() if k != "schedule"})


def _number(value: Any) -> Any:
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, list) else value
