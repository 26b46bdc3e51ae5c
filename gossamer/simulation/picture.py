"""Pictures of runs: a metric against steps, or against what they cost."""

from collections.abc import Sequence
from contextlib import nullcontext
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, get_args

from gossamer.errors import choice, require
from gossamer.interval import Interval
from gossamer.simulation.halving import median
from gossamer.simulation.words import Center, recorded_metric

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

MEANING = {
    "error": "distance to the optimum",
    "loss": "f at the nodes' average",
    "grad_norm": "size of ∇f at the nodes",
    "consensus_error": "distance to the nodes' average",
    "tracker_error": "trackers to average gradient",
}
"""Metric → what it is, where its name does not say it."""

UNITS = {"gradients": "", "messages": "", "bytes": "B"}
"""Axes whose numbers are written short, e.g. 20k or 1.5 MB → what follows the prefix."""

STRETCHES = 5
"""Into how many parts their numbers cut them at most, so that 100 kB and 200 kB do not touch."""

TITLE_WIDTH = 62
"""Letters of a line of a title."""

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
    from matplotlib.ticker import EngFormatter, MaxNLocator

    from gossamer.colours import Look, looks
    from gossamer.end_labels import label_ends
    from gossamer.plots import curve, plain_log_numbers, style

    choice("center", center, get_args(Center))
    require_band(band)
    places = [places_on(x, run) for _, run in runs]
    values = [run.metrics[recorded_metric(metric, run.metrics)] for _, run in runs]
    with style() if ax is None else nullcontext():
        ax = plt.subplots(figsize=(5.5, 3.8))[1] if ax is None else ax
        taken = [Look(str(line.get_color()), str(line.get_linestyle())) for line in ax.lines]
        methods = [run.label for _, run in runs]
        for (label, _), place, drawn, look in zip(
            runs, places, values, looks(methods, taken), strict=True
        ):
            curve(ax, place, drawn.tolist(), label, *look, center=center, band=band)
        positive = any(bool((drawn > 0).any()) for drawn in values)
        scale = "log" if positive else ax.get_yscale()
        ax.set(xlabel=AXES[x], ylabel=metric_in_words(metric), yscale=scale, xmargin=0.0)
        title = ax.get_title() or what_is_drawn([run for _, run in runs], center, band)
        ax.set_title(title, fontsize="medium")
        if scale == "log":
            plain_log_numbers(ax.yaxis)
        if x in UNITS:
            ax.xaxis.set_major_formatter(EngFormatter(UNITS[x], sep=" " if UNITS[x] else ""))
            ax.xaxis.set_major_locator(MaxNLocator(STRETCHES, steps=[1, 2, 2.5, 5, 10]))
        label_ends(ax)
    return ax


def places_on(x: str, run: "Run") -> list[float]:
    """Where on the axis each record of a run stands."""
    choice("x", x, AXES)
    if x == "steps":
        return [float(t) for t in run.steps]
    found, need = f"{x!r}, which {run.label} has no record of", "what was recorded"
    require(x in run.metrics, "x", found, need, "record seconds with clock=gs.Clock(...)")
    return [float(amount) for amount in median(run.metrics[x]).tolist()]


def metric_in_words(metric: str) -> str:
    """The name of a metric, and what it is.

    >>> metric_in_words("consensus_error"), metric_in_words("validation_loss")
    ("consensus error: distance to the nodes' average", 'validation loss')
    """
    name = metric.replace("_", " ")
    return f"{name}: {MEANING[metric]}" if metric in MEANING else name


def require_band(band: Any) -> None:
    """Refuse anything but two quantiles."""
    shares = Interval(0, 1, closed_low=True, closed_high=True)
    pair = isinstance(band, Sequence) and len(band) == 2 and all(share in shares for share in band)
    rising = pair and band[0] < band[1]
    need = "two shares that rise in [0, 1]"
    require(rising, "band", repr(band), need, "e.g. (0.1, 0.9), or (0, 1) for the range")


def what_is_drawn(runs: "Sequence[Run]", center: Center, band: Band) -> str:
    """Problem, network and noise, where the runs share them, and what line and band are."""
    told = [_task(run) for run in runs]
    shared = {k: v for k, v in told[0].items() if all(other[k] == v for other in told)}
    task = " on ".join(shared[k] for k in ("problem", "network") if k in shared)
    words = [*wrap(task, TITLE_WIDTH), *wrap(shared.get("noise", ""), TITLE_WIDTH)]
    seeds = max(len(run.diverged_at) for run in runs)
    around = "range" if band == (0, 1) else f"{band[0]:.0%} to {band[1]:.0%}"
    spread = f"{center} and {around} of {seeds} seeds" if seeds > 1 else "one seed"
    return "\n".join([*words, spread])


def _task(run: "Run") -> dict[str, str]:
    noise = run.config["noise"]
    return {
        "problem": str(run.config["problem"].get("name", "own problem")),
        "network": str(run.config["network"]["name"]),
        "noise": "" if noise is None else str(noise["name"]),
    }
