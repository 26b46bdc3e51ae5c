"""What an experiment is: resumable units of work, and how their results are drawn and judged."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from gossamer.experiments.verdict import Table, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = dict[str, Any]
"""What a unit computes: plain JSON (lists, numbers, words); non-finite numbers are allowed."""

Results = Mapping[str, Result]
"""Unit name → its stored result."""

Figures: TypeAlias = "dict[str, Figure]"
"""File stem → figure."""

Study = Literal["synthetic", "language"]
"""On the embedded regression problem, minutes on a CPU; or training Transformers, for a GPU."""


@dataclass(frozen=True)
class Options:
    """How an experiment is to be run."""

    full: bool = False
    """The paper-sized study rather than the one of a few minutes."""

    seed: int = 0
    """Shifts every seed of the study: data, tuning runs and reported runs."""

    device: str = "cpu"

    def flags(self, out: str | None = None) -> str:
        """What a command line is told of these options, and of a folder that is not the default.

        >>> Options(full=True, seed=3).flags("my runs")
        " --full --out 'my runs' --seed 3"
        """
        told = ["--full"] * self.full
        told += [f"--out {shlex.quote(out)}"] if out else []
        told += [f"--seed {self.seed}"] * (self.seed != 0)
        told += [f"--device {self.device}"] * (self.device != "cpu")
        return "".join(f" {flag}" for flag in told)

    @property
    def profile(self) -> str:
        """The folder of the results: quick and full studies never overwrite each other."""
        return "full" if self.full else "quick"


@dataclass(frozen=True)
class Unit:
    """A piece of work that is computed once, stored whole, and never again."""

    name: str
    """Unique in its experiment; the stem of its file."""

    config: Mapping[str, Any]
    """All that determines the result, as plain JSON: a stored result counts only if it agrees."""

    compute: Callable[[], Result]


class Experiment(ABC):
    """One figure, table or claim: what to compute, and how to read what was computed.

    `units` says what to compute; everything else reads stored results only.
    """

    name: ClassVar[str]
    """What a user types: `gossamer run NAME`."""

    title: ClassVar[str]
    """A line for lists and the report."""

    about: ClassVar[str]
    """A paragraph for the report: what is run, and what the figure shows."""

    study: ClassVar[Study] = "synthetic"
    """The study it belongs to, which can be run as a whole."""

    @abstractmethod
    def units(self, options: Options) -> list[Unit]:
        """The work, in the order it is done."""

    @abstractmethod
    def figures(self, results: Results) -> Figures:
        """File stem → figure."""

    @abstractmethod
    def verdicts(self, results: Results) -> list[Verdict]:
        """The paper's statements beside our measurements."""

    def readable(self, results: Results, units: Sequence[Unit]) -> bool:
        """Whether the results so far can be drawn and judged: by default, when all are there."""
        return len(results) == len(units)

    def tables(self, results: Results) -> list[Table]:
        """Further tables for the report; none by default."""
        return []
