"""The look of all figures: safe for colour-blind readers, readable in print and on a page."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gossamer.colours import GREY, GROUND, INK, ON_COLOUR, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "font.size": 9.5,
    "text.color": INK,
    "axes.titlesize": 10,
    "figure.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "gossamer",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """Context manager that draws in Gossamer's style and then restores matplotlib's settings.

    One setting is not restored: in a notebook, the first figure makes matplotlib interactive, and
    it must stay so for the next figures to be shown.
    """
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield
        interactive = mpl.is_interactive()
    mpl.interactive(interactive)


def panels(
    count: int, *, width: float = 3.6, height: float = 3.0, stacked: bool = False
) -> "tuple[Figure, list[Axes]]":
    """A figure with `count` axes in a row or, if `stacked`, in a column; it opens no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = (count, 1) if stacked else (1, count)
    figure = Figure(figsize=(width * columns, height * rows))
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]


def curve(
    ax: "Axes",
    steps: Sequence[float],
    values: Sequence[Sequence[float]],
    label: str,
    colour: str,
    line: str = "-",
    center: Literal["median", "mean"] = "median",
    band: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Draw the median or mean of `values[record][seed]` over seeds, and a band between quantiles.

    The label of the band is that of the curve with "_" in front, so that a page that hides the
    curve can hide the band, too.
    """
    array = np.asarray(values, dtype=float)
    array = np.where(np.isfinite(array), array, np.nan)
    shown = np.isfinite(array).all(axis=1)
    x, array = np.asarray(steps)[shown], array[shown]
    middle = np.median(array, axis=1) if center == "median" else array.mean(axis=1)
    ax.plot(x, middle, line, color=colour, label=label)
    low, high = np.quantile(array, band, axis=1)
    ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, label=f"_{label}")


def plain_log_numbers(axis: "Axis") -> None:
    """Label a logarithmic axis with plain numbers such as 0.2, 1 or 30, not with powers of ten.

    This is done only if the axis lies between 0.001 and 10000.
    """
    from matplotlib.ticker import LogFormatterSciNotation

    class PlainNumbers(LogFormatterSciNotation):
        def __call__(self, x: float, pos: Any = None) -> str:
            power = super().__call__(x, pos)  # empty where there would be too many
            low, high = axis.get_view_interval()
            return f"{x:g}" if power and low >= 1e-3 and high < 1e4 else power

    axis.set_major_formatter(PlainNumbers())
    axis.set_minor_formatter(PlainNumbers())


def plain_log_axes(figure: "Figure") -> None:
    """`plain_log_numbers` for those logarithmic axes of a figure that have no other labels."""
    from matplotlib.ticker import LogFormatter

    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        if axis.get_scale() == "log" and isinstance(axis.get_major_formatter(), LogFormatter):
            plain_log_numbers(axis)


def heat_map(
    ax: "Axes",
    shades: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    letters: float = 7,
) -> None:
    """Draw a table of shaded cells with a text in each.

    Args:
        ax: axes to draw on.
        shades: shade of each cell, from 0 (light) to 1 (dark). A value above 1 marks a
            failure, NaN a cell that was not tried; both have colours of their own.
        texts: text in each cell.
        rows: names of the rows, from top to bottom.
        columns: names of the columns.
        letters: font size of the texts, in points.
    """
    from matplotlib import colormaps

    colours = colormaps["YlGnBu"].with_extremes(bad="0.93", over=VERMILLION)
    ax.imshow(shades, cmap=colours, vmin=-0.1, vmax=1.0, aspect="auto")
    for row, column in np.ndindex(len(rows), len(columns)):
        colour = ON_COLOUR if shades[row][column] > 0.55 else "0.15"
        amid: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": letters}
        ax.text(column, row, texts[row][column], color=colour, **amid)
    ax.set_xticks(range(len(columns)), labels=columns)
    ax.set_yticks(range(len(rows)), labels=rows)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    _separate(ax, len(rows), len(columns))
    ax.spines[:].set_visible(False)


def _separate(ax: "Axes", rows: int, columns: int) -> None:
    """Draw the lines between cells in one stroke, which keeps files small."""
    right, bottom, lift = columns - 0.5, rows - 0.5, (np.nan, np.nan)
    stroke: list[tuple[float, float]] = []
    for y in range(1, rows):
        stroke += [(-0.5, y - 0.5), (right, y - 0.5), lift]
    for x in range(1, columns):
        stroke += [(x - 0.5, -0.5), (x - 0.5, bottom), lift]
    ax.plot(*zip(*stroke, strict=True), color=GROUND, linewidth=1.5, scalex=False, scaley=False)
