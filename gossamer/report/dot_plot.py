"""Printed numbers beside ours: a row for each, a ring for the print and a dot for ours."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gossamer.colours import BLUE, GREY, LOOKS
from gossamer.experiments import Printed
from gossamer.plots import panels, plain_log_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADES = 10.0
"""From this ratio of the largest to the smallest number on, the axis is logarithmic."""


def dot_plot(numbers: Sequence[Printed]) -> "Figure":
    """A panel for every axis that the numbers name, on one scale."""
    wheres = list(dict.fromkeys(number.where for number in numbers))
    of = {where: [number for number in numbers if number.where == where] for where in wheres}
    with style():
        tall = max(map(len, of.values()))
        figure, axes = panels(len(wheres), width=3.8, height=0.26 * tall + 0.9)
        both = [value for number in numbers for value in (number.printed, number.ours)]
        every = [value for value in both if math.isfinite(value)]
        log = min(every) > 0 and max(every) / min(every) > DECADES
        for ax, where in zip(axes, wheres, strict=True):
            ax.set(title=where, xscale="log" if log else "linear")
            _rows(ax, of[where])
        axes[0].legend()
        plain_log_axes(figure)
    return figure


def _rows(ax: "Axes", numbers: Sequence[Printed]) -> None:
    for row, number in enumerate(numbers):
        colour = LOOKS[number.what].colour if number.what in LOOKS else BLUE
        ax.plot([number.printed, number.ours], [row, row], color=GREY, linewidth=0.8)
        if all(map(math.isfinite, number.runs)):
            ax.hlines(row, min(number.runs), max(number.runs), color=colour, label="_ours")
        ax.plot(number.ours, row, "o", color=colour, markersize=6, label="ours")
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.5}
        ax.plot(number.printed, row, "o", color=colour, markersize=8, label="printed", **hollow)
    ax.set_yticks(range(len(numbers)), labels=[number.what for number in numbers])
    ax.set_ylim(len(numbers) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
