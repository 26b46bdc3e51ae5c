"""A figure as the page shows it: a panel for each axes, and a legend that switches its curves."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from markupsafe import Markup

from gossamer.colours import DASHES
from gossamer.plots import style
from gossamer.report.elements import COLOURS, alone, definitions, parsed
from gossamer.svg import for_a_page

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

POINT = 4 / 3
"""Pixels."""


@dataclass(frozen=True)
class Entry:
    """A line of the legend."""

    label: str
    colour: str
    mark: Literal["line", "dot", "ring", "box"]
    dash: str = ""
    """As SVG takes it; empty for a line without gaps."""


@dataclass(frozen=True)
class Panel:
    """An axes with its titles and numbers."""

    svg: Markup
    width: int
    """In pixels, where nothing is scaled."""


@dataclass(frozen=True)
class Drawing:
    """What the page shows of a figure."""

    panels: Sequence[Panel]
    legend: Sequence[Entry]
    caption: str


def drawing(figure: "Figure", stem: str) -> Drawing:
    """Take the figure apart; it is no longer of use afterwards.

    Every curve with a label can be pointed at, and those of a figure with a legend be switched
    off, together with what is labelled "_" and the same: bands, guides, whiskers.
    """
    legend = _legend(figure) if _has_legend(figure) else []
    caption = str(figure.get_supxlabel())
    with style():
        _make_panels_complete(figure)
        return Drawing(_panels(figure, stem), legend, caption)


def _panels(figure: "Figure", stem: str) -> list[Panel]:
    curves = {gid: label for ax in figure.axes for gid, label in _named(ax)}
    for place, ax in enumerate(figure.axes):
        ax.set_gid(f"panel-{place}")
    root = parsed(for_a_page(figure))
    known = definitions(root)
    parts = {element.get("id"): element for element in root.iter("g")}
    for gid, label in curves.items():
        parts[gid].set("class", "band" if label.startswith("_") else "curve")
        parts[gid].set("data-label", label.removeprefix("_"))
    return [
        _panel(ax, alone(parts[ax.get_gid()], known, f"{stem}-{place}"))
        for place, ax in enumerate(figure.axes)
    ]


def _has_legend(figure: "Figure") -> bool:
    return bool(figure.legends) or any(ax.get_legend() is not None for ax in figure.axes)


def _legend(figure: "Figure") -> list[Entry]:
    """One entry for every label, however many panels it is in."""
    found = dict[str, Entry]()
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, _entry(handle, label))
    return list(found.values())


def _entry(handle: Any, label: str) -> Entry:
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D

    first = handle[0] if isinstance(handle, tuple) else handle
    if not isinstance(first, Line2D):
        return Entry(label, _variable(to_hex(first.get_facecolor())), "box")
    colour, line = _variable(to_hex(first.get_color())), first.get_linestyle()
    if line in DASHES:
        return Entry(label, colour, "line", DASHES[line])
    return Entry(label, colour, "ring" if first.get_markerfacecolor() == "none" else "dot")


def _variable(colour: str) -> str:
    return COLOURS.get(colour, colour)


def _make_panels_complete(figure: "Figure") -> None:
    """Without legend and caption, which the page has; each panel names its own axes."""
    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes)]:
        if legend is not None:
            legend.remove()
    figure.supxlabel("")
    for ax in figure.axes:
        ax.tick_params(axis="y", labelleft=True)
        ax.set_ylabel(ax.get_ylabel() or figure.axes[0].get_ylabel())


def _named(ax: "Axes") -> Iterator[tuple[str, str]]:
    """Give every curve of the axes, and what goes with it, an id: id, label."""
    labels = ax.get_legend_handles_labels()[1]
    for artist, label in _labelled(ax):
        if label.removeprefix("_") in labels:
            artist.set_gid(f"curve-{id(artist)}")
            yield f"curve-{id(artist)}", label


def _labelled(ax: "Axes") -> Iterator[tuple["Artist", str]]:
    """Lines under their label; bands, whiskers and bars under "_" and the label."""
    from matplotlib.lines import Line2D

    for artist in [*ax.lines, *ax.collections]:
        yield artist, str(artist.get_label())
    for container in ax.containers:
        for artist in container.get_children():
            mark = "" if isinstance(artist, Line2D) else "_"
            yield artist, f"{mark}{container.get_label()}"


def _panel(ax: "Axes", made: ET.Element) -> Panel:
    left, top, width, height = _box(ax)
    made.set("viewBox", f"{left:.1f} {top:.1f} {width:.1f} {height:.1f}")
    title = ax.get_title() or ax.get_title(loc="left") or ax.get_ylabel()
    made.attrib |= {"role": "img", "aria-label": title}
    made.attrib |= {"data-x": _scale(ax.xaxis, ax), "data-y": _scale(ax.yaxis, ax)}
    if (rows := _rows(ax)) is not None:
        made.set("data-rows", json.dumps(rows, ensure_ascii=False))
    return Panel(Markup(ET.tostring(made, encoding="unicode")), round(width * POINT))


def _box(ax: "Axes") -> tuple[float, float, float, float]:
    """What the panel takes, in points from the upper left corner of the figure."""
    figure = ax.figure
    tight = ax.get_tightbbox()
    assert tight is not None
    points, tall = 72 / figure.dpi, figure.bbox.height
    corner = (tight.x0 * points - 2, (tall - tight.y1) * points - 2)
    return (*corner, tight.width * points + 4, tight.height * points + 4)


def _scale(axis: "Axis", ax: "Axes") -> str:
    """Kind, the ends in points, and the values there: what turns a place into a number."""
    points, tall = 72 / ax.figure.dpi, ax.figure.bbox.height
    box = ax.bbox
    if axis is ax.xaxis:
        ends, values = (box.x0 * points, box.x1 * points), ax.get_xlim()
    else:
        ends, values = ((tall - box.y0) * points, (tall - box.y1) * points), ax.get_ylim()
    numbers = [f"{end:.2f}" for end in ends] + [f"{value:.9g}" for value in values]
    return " ".join([axis.get_scale(), *numbers])


def _rows(ax: "Axes") -> list[str] | None:
    """The names of rows at 0, 1, 2, …, where there are such."""
    from matplotlib.ticker import FixedLocator

    names = [label.get_text() for label in ax.get_yticklabels()]
    fixed = isinstance(ax.yaxis.get_major_locator(), FixedLocator)
    return names if fixed and list(ax.get_yticks()) == list(range(len(names))) else None
