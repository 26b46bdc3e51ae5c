"""Lines that are named at their ends, in their own colour."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

END_LABEL = "label at the end of a line"
SIZE = "small"
MOST_LINES, LONGEST_LABEL = 8, 20
"""Beyond which there is a legend instead."""


def label_ends(ax: "Axes") -> None:
    """Name every line at its end, in its colour.

    Where there are too many lines, they are named in a legend beside the curves, and where names
    are too long, in one among them.

    Called again, it takes the place of what it wrote before.
    """
    for text in [text for text in ax.texts if text.get_gid() == END_LABEL]:
        text.remove()
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    points = [np.asarray(line.get_xydata(), dtype=float) for line in lines]
    ends = [drawn[-1] for drawn in points if len(drawn)]
    labels = [str(line.get_label()) for line in lines]
    if not 0 < len(lines) == len(ends) or not _fit(labels):
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if _short(labels) else {}
        ax.legend(**beside)
        return
    if (legend := ax.get_legend()) is not None:
        legend.remove()
    heights = ax.transData.transform(np.array(ends))[:, 1] * 72 / ax.figure.dpi
    for line, end, shift in zip(lines, ends, _apart(heights, 1.25 * _letters()), strict=True):
        _write(ax, line, end, float(shift))


def _fit(labels: Sequence[str]) -> bool:
    return len(labels) <= MOST_LINES and _short(labels)


def _short(labels: Sequence[str]) -> bool:
    return all(len(label) <= LONGEST_LABEL for label in labels)


def _letters() -> float:
    """Their height in points."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=SIZE).get_size_in_points()


def _write(ax: "Axes", line: "Line2D", end: NDArray[np.float64], shift: float) -> None:
    ax.annotate(
        str(line.get_label()),
        (float(end[0]), float(end[1])),
        xytext=(4, shift),
        textcoords="offset points",
        va="center",
        color=line.get_color(),
        fontsize=SIZE,
        gid=END_LABEL,
        annotation_clip=False,
    )


def _apart(heights: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """How far each moves so that none is nearer than `gap` to the next, and few move far.

    >>> _apart(np.array([0.0, 100.0, 2.0]), 10.0)
    array([-4.,  0.,  4.])
    """
    order, moved = np.argsort(heights, kind="stable"), heights.astype(float)
    for _ in range(50 * len(heights)):
        missing = np.maximum(gap - np.diff(moved[order]), 0)
        if missing.max(initial=0) < 1e-9 * gap:
            break
        moved[order[:-1]] -= missing / 2
        moved[order[1:]] += missing / 2
    return moved - heights
