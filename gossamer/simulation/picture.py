"""Pictures of runs: a metric against steps, or against what they cost."""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Literal, get_args

from gossamer.errors import choice, require
from gossamer.simulation.halving import median
from gossamer.simulation.words import Center

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gossamer.simulation.run import Run

Against = Literal["steps", "gradients", "messages", "bytes", "seconds"]

AXES: dict[str, str] = {
    "steps": "steps",
    "gradients": "gradients per node",
    "messages": "messages sent per node",
    "bytes": "sent per node",
    "seconds": "seconds",
}
"""What a metric is drawn against → how that axis is labelled."""

UNITS = {"gradients": "", "messages": "", "bytes": "B"}
"""Axes whose numbers are written short, e.g. 20k or 1.5 MB → what follows the prefix."""

Band = tuple[float, float]
"""Between which quantiles over the seeds: (0, 1) is from the lowest to the highest."""


def draw_runs(
    runs: "Sequence[tuple[str, Run]]",
    metric: str,
    x: Against = "steps",
    ax: "Axes | None" = None,
    *,
    center: Center = "median",
    band: Band = (0.0, 1.0),
) -> "Axes":
    """Draw a line for each run, and a band around it.

    Args:
        runs: with their labels.
        metric: what to draw.
        x: what to draw it against; of costs that differ between the seeds, the median.
        ax: where to draw, beside what is there; a new figure if None.
        center: the median or the mean over the seeds.
        band: between which quantiles over the seeds.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter

    from gossamer.plots import colours, curve, plain_log_numbers, style

    choice("center", center, get_args(Center))
    low, high = band
    need = "two shares that rise in [0, 1]"
    require(0 <= low < high <= 1, "band", band, need, "e.g. (0.1, 0.9), or (0, 1) for the range")
    places = [places_on(x, run) for _, run in runs]
    values = [run.metrics[choice("metric", metric, run.metrics)] for _, run in runs]
    with style() if ax is None else nullcontext():
        ax = plt.subplots(figsize=(5.5, 3.8))[1] if ax is None else ax
        others = islice(colours(), len(ax.lines), None)
        for (label, _), place, drawn, colour in zip(runs, places, values, others, strict=False):
            curve(ax, place, drawn.tolist(), label, colour, center=center, band=band)
        positive = any(bool((drawn > 0).any()) for drawn in values)
        scale = "log" if positive else ax.get_yscale()
        ax.set(xlabel=AXES[x], ylabel=metric.replace("_", " "), yscale=scale)
        if scale == "log":
            plain_log_numbers(ax.yaxis)
        if x in UNITS:
            ax.xaxis.set_major_formatter(EngFormatter(UNITS[x], sep=" " if UNITS[x] else ""))
        ax.legend()
    return ax


def places_on(x: str, run: "Run") -> list[float]:
    """Where on the axis each record of a run stands."""
    choice("x", x, AXES)
    if x == "steps":
        return [float(t) for t in run.steps]
    found, need = f"{x!r}, which {run.label} has no record of", "what was recorded"
    require(x in run.metrics, "x", found, need, "record seconds with clock=gs.Clock(...)")
    return [float(amount) for amount in median(run.metrics[x]).tolist()]
