"""Lines that are named at their ends, in their own colour."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

END_LABEL = "label at the end of a line"


def label_ends(ax: "Axes", *, most: int = 8, longest: int = 20) -> None:
    """Name every line at its end, in its colour; in a legend where there are too many or too long.

    Drawn again, it takes the place of what it wrote before.
    """
    for text in [text for text in ax.texts if text.get_gid() == END_LABEL]:
        text.remove()
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    labels = [str(line.get_label()) for line in lines]
    points = [np.asarray(line.get_xydata(), dtype=float) for line in lines]
    if not all(map(len, points)) or len(lines) > most or max(map(len, labels), default=0) > longest:
        ax.legend()
        return
    if (legend := ax.get_legend()) is not None:
        legend.remove()
    ends = np.array([drawn[-1] for drawn in points])
    heights = ax.transData.transform(ends)[:, 1]
    for line, end, shift in zip(lines, ends, _apart(heights, 1.25 * _line_height(ax)), strict=True):
        ax.annotate(
            str(line.get_label()),
            (1, end[1]),
            xycoords=ax.get_yaxis_transform(),
            xytext=(4, shift * 72 / ax.figure.dpi),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            fontsize="small",
            gid=END_LABEL,
            annotation_clip=False,
        )


def _line_height(ax: "Axes") -> float:
    """Of small letters, in pixels."""
    from matplotlib import rcParams

    return float(rcParams["legend.fontsize"]) * ax.figure.dpi / 72


def _apart(heights: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """How far each moves so that none is nearer than `gap` to the next, and few move far.

    >>> _apart(np.array([0.0, 100.0, 2.0]), 10.0)
    array([-4.,  0.,  4.])
    """
    order, moved = np.argsort(heights, kind="stable"), heights.astype(float)
    for _ in range(50 * len(heights)):
        sorted_ = moved[order]
        missing = np.maximum(gap - np.diff(sorted_), 0)
        if missing.max(initial=0) < 1e-9 * gap:
            break
        moved[order[:-1]] -= missing / 2
        moved[order[1:]] += missing / 2
    return moved - heights
