"""What is said of an experiment: tables, and statements beside what we measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gossamer.errors import require

Holds = Literal["yes", "partly", "no"]

Source = Literal["paper", "setting", "published", "ours"]
"""What is said: a statement of the paper about its results, a number that describes the paper's
setup, such as λ, a statement of another publication, or ours, as a goal or beyond the paper."""


@dataclass(frozen=True)
class Verdict:
    """A statement, our measurement, and whether the measurement confirms the statement."""

    statement: str
    """A statement of the paper, in its words or close to them, or an expectation of ours."""

    ours: str
    """Our measurement, with its spread."""

    condition: bool | Mapping[str, bool]
    """Whether the statement holds; or a mapping from the name of each part of the statement to
    whether that part holds."""

    note: str = ""
    """An explanation, e.g. how the statement must be read in order to hold."""

    source: Source = "paper"
    """Where the statement is from. "paper" is a statement of the paper about its results, "setting"
    a number that describes the paper's setup, such as λ, "published" a statement of another
    publication, and "ours" a statement of our own."""

    @property
    def holds(self) -> Holds:
        """The answer "yes", "partly" (at least half of the statement's parts hold) or "no".

        >>> Verdict("λ is small", "0.1", {"ring": True, "complete": True, "path": False}).holds
        'partly'
        """
        if isinstance(self.condition, bool):
            return "yes" if self.condition else "no"
        true, parts = sum(self.condition.values()), len(self.condition)
        return "yes" if true == parts else "partly" if 2 * true >= parts else "no"

    @property
    def holds_for(self) -> str:
        """The parts of the statement that hold, if some but not all of them do; else empty."""
        if isinstance(self.condition, bool) or self.holds == "yes":
            return ""
        return "; ".join(part for part, true in self.condition.items() if true)


@dataclass(frozen=True)
class Printed:
    """A number printed in a publication, and our number."""

    where: str
    """What is measured, e.g. "final error, complete networks". Numbers for which this text is the
    same share one axis of the figure."""

    what: str
    """The method, or whatever else distinguishes numbers that share an axis."""

    printed: float
    """The number in the publication."""

    ours: float
    """Our number, which is the median or the mean of our runs."""

    runs: Sequence[float]
    """The number that each of our runs gave."""


@dataclass(frozen=True)
class Table:
    """A table for the report, e.g. of chosen hyper-parameters, final errors or costs."""

    title: str
    columns: Sequence[str]

    rows: Sequence[Sequence[str]]
    """Each with a cell for every column."""

    def __post_init__(self) -> None:
        need = f"a cell for each of the {len(self.columns)} columns {list(self.columns)}"
        for row in self.rows:
            found = f"{list(row)} in the table {self.title!r}"
            fits = len(row) == len(self.columns)
            require(fits, "rows", found, need, 'a cell may be empty, ""')
