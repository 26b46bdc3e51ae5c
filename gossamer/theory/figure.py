"""The bound as a picture."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from gossamer.colours import OKABE_ITO
from gossamer.plots import panels, style

if TYPE_CHECKING:
    from gossamer.theory.planned import Plan

YELLOW = "#F0E442"
"""The ninth colour, for the ninth term."""


def bound_figure(plan: "Plan") -> Figure:
    """The bound at every setting of a plan, stacked by term."""
    with style():
        figure, (ax,) = panels(1, width=7.5, height=3.2)
        left = [0.0] * len(plan.bounds)
        names = [name for name, *_ in plan.bounds["p known"].table()]
        for name, colour in zip(names, (*OKABE_ITO, YELLOW), strict=True):
            widths = [bound[name] for bound in plan.bounds.values()]
            ax.barh(list(plan.bounds), widths, left=left, label=name, color=colour, height=0.55)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        ax.invert_yaxis()
        ax.set_xlabel("bound on the averaged gradient norm")
        ax.set_title(f"{plan.network.name}, T = {plan.steps:,}, p = {plan.constants.p:g}")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
