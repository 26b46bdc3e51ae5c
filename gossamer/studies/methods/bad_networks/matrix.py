"""A matrix of coloured cells with a number in each, e.g. methods by networks."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gossamer.plots import heat_map, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARKEST = 30.0
"""From this number on, all cells are as dark."""

Cells = Mapping[tuple[str, str], float | None]
"""(row, column) → a number from 1 on, ∞ for a failure, or None for what was not tried."""


def matrices(
    titled: Mapping[str, Cells], rows: Sequence[str], columns: Sequence[str], caption: str
) -> "Figure":
    """A panel for each of `titled`, one below the other."""
    with style():
        width, height = 0.44 * len(columns) + 2.2, 0.25 * len(rows) + 1.4
        figure, axes = panels(len(titled), width=width, height=height, stacked=True)
        for ax, (title, cells) in zip(axes, titled.items(), strict=True):
            _matrix(ax, cells, rows, columns)
            ax.set_title(title, loc="left", fontweight="bold")
        figure.supxlabel(textwrap.fill(caption, int(13 * width)), fontsize=9)
    return figure


def _matrix(ax: "Axes", cells: Cells, rows: Sequence[str], columns: Sequence[str]) -> None:
    shades = [[shade(cells.get((row, column))) for column in columns] for row in rows]
    texts = [[show(cells[r, c]) if (r, c) in cells else "" for c in columns] for r in rows]
    heat_map(ax, shades, texts, rows, columns, letters=9)
    ax.tick_params(axis="x", labeltop=True, labelbottom=False, labelsize=8, labelrotation=40)
    for label in ax.get_xticklabels():
        label.set_horizontalalignment("left")
    ax.tick_params(axis="y", labelsize=8.5)


def shade(value: float | None) -> float:
    """From 0 at 1 to 1 at `DARKEST`, beyond 1 for a failure, NaN for what was not tried.

    >>> shade(1.0), shade(1000.0), shade(math.inf), shade(None)
    (0.0, 1.0, 2.0, nan)
    """
    if value is None:
        return math.nan
    return min(1.0, math.log(value) / math.log(DARKEST)) if value < math.inf else 2.0


def show(value: float | None) -> str:
    """With two digits below 100.

    >>> show(1.04), show(23.4), show(340.2), show(math.inf), show(None)
    ('1.0', '23', '340', '✗', '–')
    """
    if value is None:
        return "–"
    return f"{value:.{value < 9.95:d}f}" if value < math.inf else "✗"
