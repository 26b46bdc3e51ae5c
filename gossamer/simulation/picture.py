"""Pictures of runs: a metric against steps, bytes or seconds."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

from gossamer.errors import choice, require
from gossamer.simulation.halving import median

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gossamer.simulation.run import Run

Against = Literal["steps", "bytes", "seconds"]

AXES: dict[str, str] = {"steps": "steps", "bytes": "MB sent per node", "seconds": "seconds"}
"""What a metric is drawn against → how that axis is labelled."""


def draw_runs(
    runs: "Sequence[tuple[str, Run]]", metric: str, x: Against, ax: "Axes | None" = None
) -> "Axes":
    """Draw a line for each run: the median over the seeds, and a band from lowest to highest.

    Args:
        runs: with their labels.
        metric: what to draw.
        x: what to draw it against; of bytes and seconds that differ between the seeds, the median.
        ax: where to draw, beside what is there; a new figure if None.
    """
    from gossamer.plots import colours, curve

    places = [places_on(x, run) for _, run in runs]
    values = [run.metrics[choice("metric", metric, run.metrics)] for _, run in runs]
    ax = _new_axes() if ax is None else ax
    others = islice(colours(), len(ax.lines), None)
    for (label, _), place, drawn, colour in zip(runs, places, values, others, strict=False):
        curve(ax, place, drawn.tolist(), label, colour)
    positive = any(bool((drawn > 0).any()) for drawn in values)
    scale = "log" if positive else ax.get_yscale()
    ax.set(xlabel=AXES[x], ylabel=metric.replace("_", " "), yscale=scale)
    ax.legend()
    return ax


def places_on(x: str, run: "Run") -> list[float]:
    """Where on the axis each record of a run stands."""
    choice("x", x, AXES)
    if x == "steps":
        return [float(t) for t in run.steps]
    found, need = f"{x!r}, which {run.label} has no record of", "what was recorded"
    require(x in run.metrics, "x", found, need, "record seconds with clock=gs.Clock(...)")
    return [amount / (1e6 if x == "bytes" else 1) for amount in median(run.metrics[x]).tolist()]


def _new_axes() -> "Axes":
    import matplotlib.pyplot as plt

    from gossamer.plots import style

    with style():
        return plt.subplots(figsize=(5.5, 3.8))[1]
