"""The picture: losses along the steps."""

from typing import TYPE_CHECKING

from gossamer.colours import looks
from gossamer.experiments import Results
from gossamer.plots import curve, panels, style
from gossamer.studies.language.modern_table.situations import FIRST, TASKS, tuned_name
from gossamer.studies.language.task import mean_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure_of(results: Results) -> "Figure":
    """Validation loss over steps, a panel per corpus."""
    with style():
        figure, axes = panels(len(TASKS), width=4.6, height=3.8)
        for ax, corpus in zip(axes, TASKS, strict=True):
            _draw(ax, results, corpus)
        axes[0].set_ylabel("validation loss [nats per token]")
        axes[-1].legend(ncols=2, fontsize="small")
    return figure


def _draw(ax: "Axes", results: Results, corpus: str) -> None:
    """The methods that the study asks about; the table has all."""
    ends = []
    for method, look in zip(FIRST, looks(FIRST), strict=True):
        result = results[tuned_name(corpus, method)]
        curve(ax, result["steps"], result["validation_loss"], method, *look)
        ends.append(mean_loss(result))
    reached = [end for end in ends if end < float("inf")]
    ax.set(title=corpus, xlabel="step t", ylim=(0.95 * min(reached), 1.25 * max(reached)))
