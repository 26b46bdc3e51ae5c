"""Figures as SVG: files that suit light and dark pages, or elements of a page."""

import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gossamer.colours import DARK, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK_RULES = "".join(
    f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
    for light, dark in DARK.items()
    for what in ("fill", "stroke")
)


def for_both(figure: "Figure", metadata: Mapping[str, str | None] | None = None) -> str:
    """The figure as the content of an SVG file with colours for both light and dark pages.

    A browser shows the colours for dark pages if the page, or the reader's system, is dark. All
    other programs show the colours for light pages.
    """
    svg = _written(figure, metadata)
    rules = f"<style>@media (prefers-color-scheme: dark){{{DARK_RULES}}}</style>"
    return svg.replace("<defs>", f"<defs>{rules}", 1)


def for_a_page(figure: "Figure") -> str:
    """The figure as SVG with a transparent background and with text as letters, not as paths."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "savefig.transparent": True}):
        return _written(figure, {"Date": None, "Creator": None, "Format": None, "Type": None})


def inline(figure: "Figure", describes: str = "") -> str:
    """The figure as an SVG element, which takes the text colour and background of its page.

    Args:
        figure: the figure.
        describes: description of the figure for readers who cannot see it.
    """
    from html import escape

    svg = for_a_page(figure)
    width, height = figure.get_size_inches() * 96
    said = f'role="img" aria-label="{escape(describes)}"'
    look = f"width:{width:.0f}px;max-width:100%;height:auto;stroke-linejoin:round"
    opened = f'<svg viewBox="0 0 {width * 0.75:.6g} {height * 0.75:.6g}" {said} style="{look}"'
    inside = re.sub(r"\s*<(metadata|style)\b.*?</\1>", "", svg.partition("<svg")[2], flags=re.S)
    body = _short(inside.partition(">")[2]).replace(INK, "currentColor")
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"{opened} {names}>{body.strip()}"


def _short(svg: str) -> str:
    """Lines with two places after the point, which is finer than a screen."""
    digits = re.compile(r"\d+\.\d{3,}")

    def rounded(path: re.Match[str]) -> str:
        return digits.sub(lambda number: f"{float(number[0]):.2f}", path[0]).replace("\n", " ")

    return re.sub(r'\bd="[^"]*"', rounded, svg)


def _written(figure: "Figure", metadata: Mapping[str, str | None] | None) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, **(metadata or {})})
    return file.getvalue()
