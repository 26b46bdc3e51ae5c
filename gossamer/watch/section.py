"""What the page shows of one thing that runs: how far it is, its curves, its verdicts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.colours import DARK, DASHES, LOOKS, looks
from gossamer.experiments import Verdict

POINTS = 400
"""Of a curve, at most: more than a screen can show."""


@dataclass(frozen=True)
class Curve:
    """A line of a chart."""

    label: str
    points: Mapping[float, float]
    """Place on the axis → value."""

    def thinned(self) -> list[tuple[float, float | None]]:
        """The points in their order, some left out where there are too many; None is a gap."""
        every = sorted(self.points.items())
        stride = max(1, math.ceil(len(every) / POINTS))
        chosen = [*every[:-1:stride], *every[-1:]]
        return [(x, y if math.isfinite(y) else None) for x, y in chosen]


@dataclass(frozen=True)
class Chart:
    """Curves of one metric."""

    metric: str
    curves: Sequence[Curve]

    def as_json(self) -> dict[str, Any]:
        """For the page; every method has its colour."""
        drawn = looks([_known(curve.label) for curve in self.curves])
        return {
            "metric": self.metric.replace("_", " "),
            "curves": [
                {
                    "label": curve.label,
                    "light": look.colour,
                    "dark": DARK[look.colour],
                    "dash": DASHES[look.line],
                    "points": curve.thinned(),
                }
                for curve, look in zip(self.curves, drawn, strict=True)
            ],
        }


@dataclass(frozen=True)
class Section:
    """A training, the runs of a task, or an experiment."""

    title: str
    told: str
    """How far it is, in words."""

    done: float | None
    """As a share, where that is known."""

    charts: Sequence[Chart]
    verdicts: Sequence[Verdict] = ()

    def as_json(self) -> dict[str, Any]:
        """For the page."""
        judged = [
            {"holds": v.holds, "statement": v.statement, "ours": v.ours} for v in self.verdicts
        ]
        charts = [chart.as_json() for chart in self.charts if chart.curves]
        told = {"title": self.title, "told": self.told, "done": self.done}
        return {**told, "charts": charts, "verdicts": judged}


def _known(label: str) -> str:
    """The label, from the name of one of our methods on if it has one.

    >>> _known("Student-t GT-Clip (tracker)"), _known("n=10")
    ('GT-Clip (tracker)', 'n=10')
    """
    named = max((name for name in LOOKS if name in label), key=len, default="")
    return label[label.index(named) :] if named else label
