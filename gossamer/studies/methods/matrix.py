"""A matrix of coloured cells with a number in each, e.g. methods by networks."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gossamer.plots import OKABE_ITO, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "YlGnBu"
"""From light, at 1, to dark: its lightness alone tells the order."""

DARKEST = 30.0
"""From this number on, all cells are as dark."""

Cells = Mapping[tuple[str, str], float | None]
"""(row, column) → a number from 1 on, ∞ for a failure, or None for what was not tried."""


def matrices(
    titled: Mapping[str, Cells], rows: Sequence[str], columns: Sequence[str], caption: str
) -> "Figure":
    """A panel for each of `titled`, side by side, the rows named at the first."""
    with style():
        width, height = 0.44 * len(columns) + 1.0, 0.25 * len(rows) + 1.6
        figure, axes = panels(len(titled), width=width, height=height)
        for ax, (title, cells) in zip(axes, titled.items(), strict=True):
            _matrix(ax, cells, rows, columns)
            ax.set_title(title, loc="left", fontweight="bold")
            if ax is not axes[0]:
                ax.set_yticklabels([])
        figure.supxlabel(caption, fontsize=8.5)
    return figure


def _matrix(ax: "Axes", cells: Cells, rows: Sequence[str], columns: Sequence[str]) -> None:
    from matplotlib import colormaps

    colours = colormaps[COLOURS].with_extremes(bad="0.93", over=OKABE_ITO[1])
    shades = [[shade(cells.get((row, column))) for column in columns] for row in rows]
    ax.imshow(shades, cmap=colours, vmin=-0.1, vmax=1.0, aspect="auto")
    for (row, column), value in cells.items():
        place, dark = (columns.index(column), rows.index(row)), shade(value) > 0.55
        colour = "white" if dark else "0.15"
        ax.text(*place, show(value), ha="center", va="center", fontsize=7, color=colour)
    ax.set_xticks(range(len(columns)), labels=columns, rotation=40, ha="left", fontsize=8)
    ax.set_yticks(range(len(rows)), labels=rows, fontsize=8.5)
    ax.tick_params(top=False, labeltop=True, bottom=False, labelbottom=False, left=False)
    _white_lines_between(ax, len(rows), len(columns))


def _white_lines_between(ax: "Axes", rows: int, columns: int) -> None:
    ax.set_xticks([x - 0.5 for x in range(1, columns)], minor=True)
    ax.set_yticks([y - 0.5 for y in range(1, rows)], minor=True)
    ax.tick_params(which="minor", length=0)
    ax.grid(visible=False)
    ax.grid(which="minor", color="white", linewidth=1.5, alpha=1)
    ax.spines[:].set_visible(False)


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
