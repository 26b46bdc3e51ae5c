"""What an experiment is: resumable units of work, and how their results are drawn and judged."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from gossamer.errors import choice
from gossamer.experiments.unit import Result, Unit
from gossamer.experiments.verdict import Printed, Table, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = Mapping[str, Result]
"""Unit name → its stored result."""

Figures: TypeAlias = "dict[str, Figure]"
"""File stem → figure."""

SizeName = Literal["test", "quick", "full"]
"""Seconds, to see that everything works; minutes; or as large as the paper's."""

SIZES: tuple[SizeName, ...] = ("test", "quick", "full")

S = TypeVar("S")


@dataclass(frozen=True)
class Options:
    """How large an experiment is to be, and with which random numbers."""

    size: SizeName = "quick"
    """Also the folder of the results: studies of different size never overwrite each other."""

    seed: int = 0
    """Shifts every seed of the study: data, tuning runs and reported runs."""

    def __post_init__(self) -> None:
        choice("size", self.size, SIZES)

    def flags(self, out: str | None = None) -> str:
        """What a command line is told of these options, and of a folder that is not the default.

        >>> Options("full", seed=3).flags("my runs")
        " --size full --out 'my runs' --seed 3"
        """
        told = [f"--size {self.size}"] * (self.size != "quick")
        told += [f"--out {shlex.quote(out)}"] if out else []
        told += [f"--seed {self.seed}"] * (self.seed != 0)
        return "".join(f" {flag}" for flag in told)


class Experiment(ABC, Generic[S]):
    """One figure, table or claim: what to compute, and how to read what was computed.

    `units` says what to compute; everything else reads stored results only.
    """

    name: ClassVar[str]
    """What a user types: `gossamer run NAME`."""

    title: ClassVar[str]
    """A line for lists and the report."""

    about: ClassVar[str]
    """A paragraph for the report: what is run, and what the figure shows."""

    study: ClassVar[str]
    """The study it belongs to, which can be run as a whole. Ours are "synthetic" and "theory", on
    the regression problem and about the theorems, minutes on a CPU; "methods", all beside each
    other, which takes longer; and "language", which trains Transformers."""

    sizes: ClassVar[Mapping[SizeName, Any]]
    """Size by name → what it means here, a frozen record of type `S`."""

    @abstractmethod
    def units(self, size: S, seed: int) -> Sequence[Unit]:
        """The work at this size, in the order it is done; `seed` shifts every seed."""

    @abstractmethod
    def figures(self, results: Results) -> Figures:
        """File stem → figure."""

    @abstractmethod
    def verdicts(self, results: Results) -> list[Verdict]:
        """The paper's statements beside our measurements."""

    def readable(self, results: Results, units: Sequence[Unit]) -> bool:
        """Whether the results so far can be drawn and judged: by default, when all are there."""
        return len(results) == len(units)

    def finding(self, results: Results) -> str:
        """What was found, in one or two sentences that the report opens with; none by default."""
        return ""

    def printed(self, results: Results) -> list[Printed]:
        """Numbers that a publication prints, beside ours; none by default."""
        return []

    def tables(self, results: Results) -> list[Table]:
        """Further tables for the report; none by default."""
        return []
