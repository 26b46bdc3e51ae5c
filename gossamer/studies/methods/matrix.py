"""A matrix of coloured cells with a number in each: how many times the lowest error of a panel."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gossamer.plots import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "YlGnBu"
"""From light, the lowest, to dark; its lightness alone tells the order."""

DARKEST = 100.0
"""From this multiple of the lowest on, all cells are as dark."""

Cells = Mapping[tuple[str, str], float | str]
"""(row, column) → a number that is coloured, or a word that is not; nothing for an empty cell."""


def matrices(named: Mapping[str, Cells], rows: Sequence[str], columns: Sequence[str]) -> "Figure":
    """A panel for each of `named`, side by side, the rows named at the first."""
    with style():
        width, height = 0.46 * len(columns) + 1.0, 0.27 * len(rows) + 1.5
        figure, axes = panels(len(named), width=width, height=height)
        for ax, (title, cells) in zip(axes, named.items(), strict=True):
            _matrix(ax, cells, rows, columns)
            ax.set_title(title, loc="left")
            if ax is not axes[0]:
                ax.set_yticklabels([])
    return figure


def _matrix(ax: "Axes", cells: Cells, rows: Sequence[str], columns: Sequence[str]) -> None:
    shades = [[_shade(cells.get((row, column), "")) for column in columns] for row in rows]
    ax.imshow(shades, cmap=COLOURS, vmin=-0.1, vmax=1.0, aspect="auto")
    for (row, column), value in cells.items():
        place = columns.index(column), rows.index(row)
        colour = "white" if _shade(value) > 0.5 else "0.15"  # a word's shade is no number
        ax.text(*place, show(value), ha="center", va="center", fontsize=7, color=colour)
    ax.set_xticks(range(len(columns)), labels=columns, rotation=40, ha="left")
    ax.set_yticks(range(len(rows)), labels=rows)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    ax.set_xticks([x - 0.5 for x in range(1, len(columns))], minor=True)
    ax.set_yticks([y - 0.5 for y in range(1, len(rows))], minor=True)
    ax.tick_params(which="minor", length=0)
    ax.grid(visible=False)
    ax.grid(which="minor", color="white", linewidth=1.5, alpha=1)
    ax.spines[:].set_visible(False)


def _shade(value: float | str) -> float:
    """0 for 1, 1 from `DARKEST` on, NaN for a word."""
    if isinstance(value, str):
        return math.nan
    return min(1.0, math.log(max(1.0, value)) / math.log(DARKEST))


def show(value: float | str) -> str:
    """With two digits below 100.

    >>> show(1.04), show(23.4), show(340.2), show("refused")
    ('1.0', '23', '340', 'refused')
    """
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
