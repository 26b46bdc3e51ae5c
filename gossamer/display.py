"""What notebooks show of an object: facts, tables and pictures, as one kind of HTML.

Everything takes its colours and letters from the page around it, light or dark. Tables are of the
class that pandas gives its own, "dataframe": sites and editors know how to show these.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE = "1px solid color-mix(in srgb, currentColor 25%, transparent)"
TABLE = "border-collapse:collapse;border:none;margin:.3em 0;font-variant-numeric:tabular-nums"
CELL = "padding:.2em .9em .2em 0;text-align:left;vertical-align:top;background:none"


def facts(title: str, rows: Mapping[str, str]) -> str:
    """A title, and a line for each fact.

    >>> "<b>ring(4)</b>" in facts("ring(4)", {"nodes": "4"})
    True
    """
    faint = f"{CELL};opacity:.7;font-weight:normal;white-space:nowrap"
    told = "".join(
        f'<tr><th style="{faint}">{escape(name)}</th><td style="{CELL}">{escape(fact)}</td></tr>'
        for name, fact in rows.items()
    )
    return f"<div><b>{escape(title)}</b>{_table(told)}</div>"


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    strong: Sequence[Sequence[bool]],
    notes: Sequence[str] = (),
) -> str:
    """Cells below their heads, those that are `strong` in bold; notes below."""
    heads = "".join(f'<th style="{CELL};border-bottom:{LINE}">{escape(one)}</th>' for one in head)
    cells = _table(f"<tr>{heads}</tr>" + "".join(map(_row, rows, strong)))
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    faint = "opacity:.7;font-size:.9em"
    return f"<div style='overflow-x:auto'>{cells}<div style='{faint}'>{below}</div></div>"


def picture(
    draw: "Callable[[Axes], object]", describes: str, *, size: tuple[float, float] = (5.2, 3.4)
) -> str:
    """What `draw` draws on axes, as an element of the page; width and height in inches."""
    from gossamer.plots import panels, style
    from gossamer.svg import inline

    with style():
        figure, (ax,) = panels(1, width=size[0], height=size[1])
        draw(ax)
        return inline(figure, describes)


def beside(*parts: str) -> str:
    """Parts next to each other, below each other where the page is narrow."""
    look = "display:flex;flex-wrap:wrap;gap:1em 2em;align-items:center"
    return f"<div style='{look}'>{''.join(f'<div>{part}</div>' for part in parts)}</div>"


def _table(rows: str) -> str:
    return f"<table class='dataframe' style='{TABLE}'>{rows}</table>"


def _row(cells: Sequence[str], strong: Sequence[bool]) -> str:
    pairs = zip(cells, strong, strict=True)
    shown = (f"<b>{escape(cell)}</b>" if bold else escape(cell) for cell, bold in pairs)
    return "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in shown) + "</tr>"
