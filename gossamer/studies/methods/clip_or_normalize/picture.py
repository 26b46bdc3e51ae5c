"""The picture: clipping as a multiple of normalizing, over the tail index."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from gossamer.colours import GREY, Look, looks
from gossamer.experiments import Results
from gossamer.plots import panels, style
from gossamer.studies.methods.clip_or_normalize.reading import (
    CLIPPED,
    multiple,
    ratios,
    tuned_errors,
)
from gossamer.studies.methods.clip_or_normalize.situations import SPREADS, TAILS, Situation
from gossamer.studies.methods.standing import OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATIOS = [a * b for b in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) for a in (1, 2, 5)]
"""What the figures have a number for."""


def figure_of(results: Results, shape: str) -> "Figure":
    """Errors as multiples of GT-NSGDm's; a panel per heterogeneity."""
    with style():
        figure, axes = panels(len(SPREADS), width=3.4, height=3.4)
        for ax, apart in zip(axes, SPREADS, strict=True):
            for place, look in enumerate(looks(CLIPPED)):
                _line(ax, results, (apart, shape, CLIPPED[place]), place, look)
            ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
            nodes = Situation(apart, 2.0, shape, "").nodes
            ax.set(title=f"nodes {nodes}, {shape} noise", yscale="log", xlabel="tail index")
            ax.set_xticks(TAILS)
        _one_scale(axes)
        axes[0].set_ylabel(f"error / that of {OURS}")
        axes[0].legend()
        figure.supxlabel(
            f"median and range over the seeds; below the dotted line: lower than {OURS}"
        )
    return figure


def _one_scale(axes: "Sequence[Axes]") -> None:
    """All panels show the same heights, numbered at the first."""
    low, high = (f(limit for ax in axes for limit in ax.get_ylim()) for f in (min, max))
    shown = [ratio for ratio in RATIOS if low <= ratio <= high]
    for ax in axes:
        ax.set_ylim(low, high)
        ax.set_yticks(shown, labels=[f"{ratio:g}" for ratio in shown])
        ax.tick_params(axis="y", labelleft=ax is axes[0])
        ax.minorticks_off()


def _line(ax: "Axes", results: Results, of: tuple[float, str, str], place: int, look: Look) -> None:
    """A method's median ratio over the tail index, and its range over the seeds.

    Methods stand beside each other, so that one does not hide another as good.
    """
    apart, shape, method = of
    beside = [tail + 0.02 * (place - 1.5) for tail in TAILS]
    for x, tail in zip(beside, TAILS, strict=True):
        situation = _on_the_ring(apart, tail, shape)
        pair = (tuned_errors(results, situation, m) for m in (method, OURS))
        found = [ratio for ratio in ratios(*pair) if ratio < inf]
        if found:
            ax.vlines(x, min(found), max(found), color=look.colour, alpha=0.4, label=f"_{method}")
    middle = [multiple(results, _on_the_ring(apart, t, shape), method, OURS) for t in TAILS]
    ax.plot(beside, middle, look.line, color=look.colour, marker="o", markersize=4, label=method)


def _on_the_ring(apart: float, tail: float, shape: str) -> Situation:
    """The situation on the 2-hop ring; Gaussian noise has one shape."""
    return Situation(apart, tail, "symmetric" if tail == 2 else shape, "2-hop ring")
