"""Tables of results: printed, and as LaTeX, CSV or a pandas DataFrame."""

import math
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gossamer.errors import choice, require
from gossamer.files import write_csv
from gossamer.simulation import latex
from gossamer.simulation.words import SPREADS, Center, deviation, digits_apart, spread
from gossamer.text import aligned

ROWS_SHOWN = 40
"""Of a longer table only this many rows are printed."""


@dataclass(frozen=True)
class Spread:
    """A metric over the seeds: as a table shows it, and as numbers."""

    values: Sequence[float]
    center: Center = "median"

    def __post_init__(self) -> None:
        choice("center", self.center, SPREADS)

    @property
    def middle(self) -> float:
        """Median or mean; ∞ where that is not finite."""
        of = statistics.median if self.center == "median" else statistics.fmean
        value = of(self.values)
        return value if math.isfinite(value) else math.inf

    @property
    def numbers(self) -> dict[str, float]:
        """The center, how far the values spread, and how many are not finite: name → number."""
        finite = [value for value in self.values if math.isfinite(value)]
        lost = len(self.values) - len(finite)
        if self.center == "median":
            around = {"lowest": min(self.values), "highest": max(self.values)}
        else:
            around = {"deviation": math.inf if lost else deviation(self.values)}
        return {self.center: self.middle, **around, "diverged": lost}

    def __str__(self) -> str:
        return self.text(digits=3)

    def text(self, digits: int) -> str:
        """As it is printed with so many digits."""
        return spread(self.values, self.center, digits)

    def latex(self, bold: bool, digits: int = 3) -> str:
        """Typeset, the center in bold letters or not."""
        if self.numbers["diverged"]:
            return latex.typeset(self.text(digits))
        if self.center == "mean":
            return f"${latex.plus_minus(self.middle, self.numbers['deviation'], bold, digits)}$"
        middle, low, high, _ = (latex.number(n, digits) for n in self.numbers.values())
        return f"${latex.strong(middle, bold)}$ $[{low}, {high}]$"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: in CSV and in pandas.
        cells: words, numbers or spreads; None where there is nothing to tell.
        head: where it is printed; None leaves it out there.
        show: how a cell is printed.
    """

    name: str
    cells: Sequence[Any]
    head: str | None = None
    show: Callable[[Any], str] = str

    @property
    def printed(self) -> list[str]:
        """The head and the cells, as text."""
        return [str(self.head), *map(self._print, self.cells)]

    @property
    def typeset(self) -> list[str]:
        """The head and the cells, as LaTeX, the lowest of spreads in bold."""
        words = zip([None, *self.cells], self.printed, [False, *self.lowest], strict=True)
        return [
            cell.latex(lowest, self._digits) if isinstance(cell, Spread) else latex.typeset(text)
            for cell, text, lowest in words
        ]

    def _print(self, cell: Any) -> str:
        if isinstance(cell, Spread):
            return cell.text(self._digits)
        return "–" if cell is None else self.show(cell)

    @property
    def _digits(self) -> int:
        """Of the spreads that end at a number."""
        return digits_apart(cell.middle for cell in self.cells if _finished(cell))

    @property
    def lowest(self) -> list[bool]:
        """Which cells are the lowest of spreads."""
        finished = [cell.middle if _finished(cell) else math.inf for cell in self.cells]
        return [middle == min(finished) < math.inf for middle in finished]

    @property
    def values(self) -> dict[str, Sequence[Any]]:
        """As numbers and words: name → cells; a spread has several columns."""
        first = next((cell for cell in self.cells if isinstance(cell, Spread)), None)
        if first is None:
            return {self.name: self.cells}
        rows = [dict[str, float]() if cell is None else cell.numbers for cell in self.cells]
        return {f"{self.name} {key}": [row.get(key) for row in rows] for key in first.numbers}


def _finished(cell: object) -> bool:
    return isinstance(cell, Spread) and cell.numbers["diverged"] == 0


@dataclass(frozen=True, repr=False)
class Table:
    """A table that prints as text, and can be turned into LaTeX, CSV or a pandas DataFrame."""

    columns: Sequence[Column]
    notes: Sequence[str] = ()
    """Lines that are printed below the table; in LaTeX they are comments above it."""

    def __repr__(self) -> str:
        rows = list(zip(*(column.printed for column in self._printed), strict=True))
        return "\n".join([*aligned(rows[: ROWS_SHOWN + 1]), *self._left_out, *self.notes])

    def _repr_html_(self) -> str:
        """In notebooks, with the lowest in bold."""
        from gossamer.display import table

        head, *rows = zip(*(column.printed for column in self._printed), strict=True)
        strong = list(zip(*(column.lowest for column in self._printed), strict=True))
        return table(head, rows[:ROWS_SHOWN], strong, [*self._left_out, *self.notes])

    def to_latex(self) -> str:
        """A `tabular` with the lowest values in bold; it needs only the package booktabs."""
        head, *rows = zip(*(column.typeset for column in self._printed), strict=True)
        words = [any(isinstance(c, str | Spread) for c in one.cells) for one in self._printed]
        letters = "".join("l" if a_word else "r" for a_word in words)
        comments = [f"% {note}" for note in self.notes]
        return "\n".join([*comments, latex.tabular(head, rows, letters)])

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all columns, including those that are not printed, with all digits."""
        columns = self._values
        write_csv(path, [list(columns), *zip(*columns.values(), strict=True)])

    def to_pandas(self) -> Any:
        """All columns, including those that are not printed, as a `pandas.DataFrame`."""
        way_out = "pip install 'gossamer[pandas]', or write to_csv(path)"
        there = find_spec("pandas") is not None
        require(there, "to_pandas", "an installation without pandas", "pandas", way_out)
        return import_module("pandas").DataFrame(self._values)

    @property
    def _left_out(self) -> list[str]:
        """How many rows are not printed, if any."""
        more = len(self.columns[0].cells) - ROWS_SHOWN
        return [f"… and {more:,} more rows"] if more > 0 else []

    @property
    def _printed(self) -> list[Column]:
        return [column for column in self.columns if column.head is not None]

    @property
    def _values(self) -> dict[str, Sequence[Any]]:
        return {k: cells for column in self.columns for k, cells in column.values.items()}
