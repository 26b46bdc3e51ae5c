"""What is said of an experiment: tables, and statements beside what we measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Holds = Literal["yes", "partly", "no"]

Source = Literal["paper", "setting", "published", "ours"]
"""What is said: a statement of the paper about its results, a number of its setting such as λ, a
statement of another publication, or ours, as a goal or beyond the paper."""


@dataclass(frozen=True)
class Verdict:
    """One statement beside what we measured, judged by its main condition."""

    statement: str
    """What the paper says, or the expectation, quoted or close to it."""

    ours: str
    """What we measured, with its spread."""

    condition: bool | Mapping[str, bool]
    """Whether the main condition holds; or for which named parts of the statement it does."""

    note: str = ""
    """Why, and under which reading it does hold."""

    source: Source = "paper"

    @property
    def holds(self) -> Holds:
        """For all parts, for at least half of them, or for fewer.

        >>> Verdict("λ is small", "0.1", {"ring": True, "complete": True, "path": False}).holds
        'partly'
        """
        if isinstance(self.condition, bool):
            return "yes" if self.condition else "no"
        true, parts = sum(self.condition.values()), len(self.condition)
        return "yes" if true == parts else "partly" if 2 * true >= parts else "no"

    @property
    def holds_for(self) -> str:
        """The parts that the main condition holds for, where it holds for some and not for all."""
        if isinstance(self.condition, bool) or self.holds == "yes":
            return ""
        return "; ".join(part for part, true in self.condition.items() if true)


@dataclass(frozen=True)
class Printed:
    """A number that a publication prints, beside ours."""

    where: str
    """Numbers with the same words are drawn on one axis."""

    what: str
    """The method, or what else tells the numbers there apart."""

    printed: float
    ours: float
    """The median or the mean of our runs."""

    runs: Sequence[float]
    """The number of each of our runs."""


@dataclass(frozen=True)
class Table:
    """Rows beside a figure: chosen hyper-parameters, final errors, costs."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
