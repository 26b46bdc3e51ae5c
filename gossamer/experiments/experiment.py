"""What an experiment is: resumable units of work, and how their results are drawn and judged."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from gossamer.errors import choice, require
from gossamer.experiments.unit import Result, Unit
from gossamer.experiments.verdict import Printed, Table, Verdict
from gossamer.text import listing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = Mapping[str, Result]
"""Unit name → its stored result."""

Figures: TypeAlias = "dict[str, Figure]"
"""File stem → figure."""

SizeName = Literal["test", "quick", "full"]
"""It takes seconds, to see that everything works; or minutes; or it is as large as the paper's."""

SIZES: tuple[SizeName, ...] = ("test", "quick", "full")

S = TypeVar("S")


@dataclass(frozen=True)
class Options:
    """The size of an experiment and the seed of its random numbers."""

    size: SizeName = "quick"
    """How large the experiment is. "test" takes seconds, to see that everything works. "quick"
    takes minutes. "full" is as large as in the paper that is reproduced, as far as the paper states
    its size. Each size has its own folder of results, so results of one size never overwrite those
    of another."""

    seed: int = 0
    """Seed of all random numbers, i.e. those of the data, of tuning runs and of reported runs."""

    def __post_init__(self) -> None:
        choice("size", self.size, SIZES)

    def flags(self, out: str | None = None) -> str:
        """These options, and the folder `out`, as command-line flags; defaults are left out.

        >>> Options("full", seed=3).flags("my runs")
        " --size full --out 'my runs' --seed 3"
        """
        told = [f"--size {self.size}"] * (self.size != "quick")
        told += [f"--out {shlex.quote(out)}"] if out else []
        told += [f"--seed {self.seed}"] * (self.seed != 0)
        return "".join(f" {flag}" for flag in told)


class Experiment(ABC, Generic[S]):
    """One figure, table or claim: what to compute, and how to draw and judge the results.

    `units` defines what is computed. All other methods only read stored results.
    """

    name: ClassVar[str]
    """The name on the command line, as in `gossamer run NAME`."""

    title: ClassVar[str]
    """One line that says what the experiment is, for lists and the report."""

    about: ClassVar[str]
    """A paragraph for the report. It says what is run and what the figure shows."""

    study: ClassVar[str]
    """The group of experiments that it belongs to, which can be run as a whole. The library has
    four studies. "synthetic" (experiments with a regression problem) and "theory" (checks of the
    theorems) take minutes on a CPU. "methods" (comparisons of many methods) takes longer.
    "language" trains Transformers."""

    sizes: ClassVar[Mapping[SizeName, Any]]
    """The settings of each size, by the name of the size. They may be of any type `S`, e.g. a
    frozen dataclass."""

    @abstractmethod
    def units(self, size: S, seed: int) -> Sequence[Unit]:
        """The units of work, in the order in which they are computed.

        Args:
            size: the settings of this size, one of the values of `sizes`.
            seed: the seed in `Options`, on which the seeds of all runs depend.
        """

    @abstractmethod
    def figures(self, results: Results) -> Figures:
        """The figures, by file name without its ending."""

    @abstractmethod
    def verdicts(self, results: Results) -> list[Verdict]:
        """Statements, e.g. of the paper that is reproduced, each compared with our measurements."""

    def readable(self, results: Results, units: Sequence[Unit]) -> bool:
        """Whether there are enough results to draw and judge; by default, whether all are there."""
        return len(results) == len(units)

    def finding(self, results: Results) -> str:
        """One or two sentences on what was found, for the top of the report; empty by default."""
        return ""

    def printed(self, results: Results) -> list[Printed]:
        """Numbers printed in a publication, each with our number; none by default."""
        return []

    def tables(self, results: Results) -> list[Table]:
        """Further tables for the report; none by default."""
        return []


STATED = ("name", "title", "about", "study", "sizes")
"""What every experiment has to state."""


def require_stated(experiment: Experiment[Any]) -> None:
    """Refuse an experiment that does not state what lists, runs and reports show."""
    missing = [name for name in STATED if not hasattr(experiment, name)]
    found = f"{type(experiment).__name__} without {listing(missing)}"
    way_out = "add class attributes of these names"
    require(not missing, "experiment", found, f"one that states {listing(STATED)}", way_out)
