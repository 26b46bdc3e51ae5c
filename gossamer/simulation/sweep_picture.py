"""Pictures of searches: how good every setting is, over one hyper-parameter, two, or the steps."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gossamer.algorithms import Schedule
from gossamer.errors import choice, require
from gossamer.simulation.halving import median
from gossamer.simulation.picture import metric_in_words
from gossamer.simulation.status import Status
from gossamer.simulation.words import recorded_metric, show_hyperparameters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gossamer.simulation.sweep_record import Sweep

STEPS = "steps"


@dataclass(frozen=True)
class Level:
    """How good a setting was."""

    value: float
    """The median over the seeds at the end, or where the search ended it; ∞ if it diverged."""

    status: Status

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return "✗"
        return f"{self.value:.3g}" if self.status is Status.FINISHED else f"({self.value:.3g})"

    @property
    def rank(self) -> tuple[bool, float]:
        """Settings that finished come first."""
        return self.status is not Status.FINISHED, self.value


def draw_sweep(
    sweep: "Sweep", over: str | Sequence[str] | None, metric: str | None, ax: "Axes | None"
) -> "Axes":
    """Draw a sweep over the hyper-parameters named, or over the steps; see `Sweep.plot`."""
    import matplotlib.pyplot as plt

    from gossamer.plots import style

    name = recorded_metric(metric or sweep.config["judge_by"], sweep.metrics)
    axes = _axes(sweep, over)
    with style() if ax is None else nullcontext():
        ax = plt.subplots(figsize=(5.5, 3.8))[1] if ax is None else ax
        if axes == [STEPS]:
            _draw_steps(ax, sweep, name)
        elif len(axes) == 1:
            _draw_curve(ax, _best_levels(sweep, name, axes), axes[0], name)
        else:
            _draw_cells(ax, _best_levels(sweep, name, axes), axes)
        ax.set_title(ax.get_title() or _title(sweep, axes, name), fontsize="medium")
    return ax


def _axes(sweep: "Sweep", over: str | Sequence[str] | None) -> list[str]:
    """What it is drawn over: by default the first two hyper-parameters that vary, else steps."""
    settings = sweep.settings
    varied = [k for k in settings[0] if len({str(setting[k]) for setting in settings}) > 1]
    if over is None:
        return varied[:2] or [STEPS]
    names = [over] if isinstance(over, str) else list(over)
    for name in names:
        choice("over", name, [STEPS, *settings[0]])
    one_or_two = len(names) == 1 or (len(names) == 2 and STEPS not in names)
    require(one_or_two, "over", over, 'one hyper-parameter, two, or "steps"', 'e.g. ("lr", "clip")')
    return names


def levels(sweep: "Sweep", metric: str) -> list[Level]:
    """How good every setting was, in the order of the settings."""
    scores = sweep.scores(metric).tolist()
    found = []
    for setting, (score, ends) in enumerate(zip(scores, sweep.status, strict=True)):
        if Status.ENDED_EARLY in ends and not math.isfinite(score):
            found.append(Level(_last(sweep, metric, setting), Status.ENDED_EARLY))
        else:
            found.append(Level(score, ends[0] if math.isfinite(score) else Status.DIVERGED))
    return found


def _last(sweep: "Sweep", metric: str, setting: int) -> float:
    """The last finite median over the seeds."""
    medians = median(sweep.metrics[metric][:, setting])
    finite = medians[medians.isfinite()]
    return float(finite[-1]) if len(finite) else math.inf


def _best_levels(sweep: "Sweep", metric: str, axes: Sequence[str]) -> dict[tuple[Any, ...], Level]:
    """Values of the axes → the best that any setting with them reached."""
    best: dict[tuple[Any, ...], Level] = {}
    for setting, level in zip(sweep.settings, levels(sweep, metric), strict=True):
        place = tuple(setting[name] for name in axes)
        if place not in best or level.rank < best[place].rank:
            best[place] = level
    return best


def _draw_curve(ax: "Axes", drawn: dict[tuple[Any, ...], Level], axis: str, metric: str) -> None:
    """Finished settings joined by a line, ended ones hollow, diverged ones on the upper edge."""
    from gossamer.colours import BLUE, VERMILLION
    from gossamer.plots import plain_log_numbers

    values = _in_order([value for (value,) in drawn])
    place = {value: k if _scheduled(values) else value for k, value in enumerate(values)}
    on_top = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    marks: dict[Status, tuple[str, dict[str, Any]]] = {
        Status.FINISHED: ("o-", {"color": BLUE}),
        Status.ENDED_EARLY: ("o", {"color": BLUE, "mfc": "none"}),
        Status.DIVERGED: ("x", {"color": VERMILLION, **on_top}),
    }
    for status, (form, look) in marks.items():
        shown = [v for v in values if drawn[v,].status is status]
        heights = [1.0 if status is Status.DIVERGED else drawn[v,].value for v in shown]
        if shown:
            ax.plot([place[v] for v in shown], heights, form, label=status.short, **look)
    if _scheduled(values):
        ax.set_xticks(range(len(values)), labels=_labels(values))
    elif min(values) > 0:
        ax.set_xscale("log")
        plain_log_numbers(ax.xaxis)
    ax.set(xlabel=axis, ylabel=f"final {metric_in_words(metric)}", yscale="log")
    plain_log_numbers(ax.yaxis)
    if len(ax.lines) > 1:
        ax.legend()


def _draw_cells(ax: "Axes", drawn: dict[tuple[Any, ...], Level], axes: Sequence[str]) -> None:
    """The first of the axes from left to right, the second upwards; the best has a frame."""
    from matplotlib.patches import Rectangle

    from gossamer.colours import INK
    from gossamer.plots import heat_map

    columns, rows = (_in_order([place[k] for place in drawn]) for k in (0, 1))
    rows = rows[::-1]
    cells = [[drawn.get((column, row)) for column in columns] for row in rows]
    shades = _shades([[None if one is None else one.value for one in line] for line in cells])
    texts = [["" if one is None else str(one) for one in line] for line in cells]
    heat_map(ax, shades, texts, _labels(rows), _labels(columns))
    column, row = min(drawn, key=lambda place: drawn[place].rank)
    corner = (columns.index(column) - 0.5, rows.index(row) - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=2, zorder=4))
    ax.set(xlabel=axes[0], ylabel=axes[1])


def _draw_steps(ax: "Axes", sweep: "Sweep", metric: str) -> None:
    """A faint line for every setting, and the best."""
    from gossamer.colours import GREY, LOOKS, Look
    from gossamer.end_labels import label_ends
    from gossamer.plots import plain_log_numbers

    found = levels(sweep, metric)
    best = min(range(len(found)), key=lambda setting: found[setting].rank)
    medians = median(sweep.metrics[metric])
    drawn = medians.where(medians.isfinite(), math.nan).cpu().numpy()
    steps = sweep.steps.cpu().numpy()
    ax.plot(steps, drawn, color=GREY, alpha=0.35, linewidth=0.9)
    look = LOOKS.get(sweep.config["algorithm"]["label"], Look(GREY))
    chosen = show_hyperparameters(sweep.settings[best])
    ax.plot(steps, drawn[:, best], color=look.colour, linewidth=2, label=chosen)
    ax.set(xlabel=STEPS, ylabel=metric_in_words(metric), yscale="log", xmargin=0.0)
    plain_log_numbers(ax.yaxis)
    label_ends(ax)


def _title(sweep: "Sweep", axes: Sequence[str], metric: str) -> str:
    """Of what; for cells, which have no axis for it, also what is written in them."""
    label, network = sweep.config["algorithm"]["label"], sweep.config["network"]["name"]
    count, seeds = sweep.diverged_at.shape
    of_seeds = f"median of {seeds} seeds" if seeds > 1 else "one seed"
    title = f"{label} on {network}: {count} settings, {of_seeds}"
    if len(axes) == 1:
        return title
    signs = {Status.ENDED_EARLY: "( ) ended early", Status.DIVERGED: "✗ diverged"}
    found = {level.status for level in levels(sweep, metric)}
    told = [sign for status, sign in signs.items() if status in found]
    return f"{title}\n{'; '.join([f'final {metric_in_words(metric)}', *told])}"


def _shades(values: Sequence[Sequence[float | None]]) -> list[list[float]]:
    """From 0 for the best to 1, on a logarithmic scale; 2 for ∞, NaN for None."""
    finite = [v for line in values for v in line if v is not None and math.isfinite(v)]
    low, high = min(finite, default=1.0), max(finite, default=1.0)

    def shade(value: float | None) -> float:
        if value is None or not math.isfinite(value):
            return math.nan if value is None else 2.0
        if low <= 0 or high == low:
            return 0.0
        return math.log(value / low) / math.log(high / low)

    return [[shade(value) for value in line] for line in values]


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Each once, numbers from low to high."""
    once = list(dict.fromkeys(values))
    return once if _scheduled(once) else sorted(once)


def _scheduled(values: Sequence[Any]) -> bool:
    """Whether they have no order."""
    return any(isinstance(value, Schedule) for value in values)


def _labels(values: Sequence[Any]) -> list[str]:
    return [str(value) if isinstance(value, Schedule) else f"{value:g}" for value in values]
