"""Pictures for readers in the dark: ink becomes light, and paper becomes the page."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INK, PAPER = "#dfe3e8", "#14181e"
COLOURS = {
    "#000000": INK,
    "#262626": INK,
    "#ffffff": PAPER,
    "#b0b0b0": "#6b7280",  # the grid
    "#0072b2": "#3d9fdc",  # a blue that is dim on dark paper
    "#2a6f97": "#3d8fbd",
}
PICTURE = re.compile(r'<img [^>]*?src="([^"]+?)(\.\w+)"[^>]*>')


def dark(svg: str) -> str:
    """The drawing of matplotlib in the colours of a dark page; what it draws in colours keeps them.

    >>> dark('<svg width="3"><path style="fill: #ffffff; stroke: #d55e00"/></svg>')
    '<svg fill="#dfe3e8" width="3"><path style="fill: #14181e; stroke: #d55e00"/></svg>'
    """
    drawn = re.sub("|".join(COLOURS), lambda found: COLOURS[found[0]], svg)
    return drawn.replace("<svg ", f'<svg fill="{INK}" ', 1)


def shown(picture: re.Match[str], images: Path) -> str:
    """The picture, for readers in the dark a dark one; each leads to itself, to look closer.

    Heat maps, whose words lie on colours, and pictures of notebooks stay as they are.
    """
    path, kind = picture.groups()
    drawing = images / f"{Path(path).name}{kind}"
    linked = f'<a class="picture" href="{path}{kind}">{picture[0]}</a>'
    if kind != ".svg" or not drawing.exists() or "<image" in drawing.read_text(encoding="utf-8"):
        return linked
    night = linked.replace(f"{path}{kind}", f"{path}-dark{kind}")
    return "".join(
        copy.replace('class="picture"', f'class="picture {when}"', 1)
        for copy, when in ((linked, "only-light"), (night, "only-dark"))
    )


def _show(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "body" in context:
        images = Path(app.srcdir) / "images"
        context["body"] = PICTURE.sub(lambda found: shown(found, images), context["body"])


def _draw(app: Any, exception: Exception | None) -> None:
    images = Path(app.outdir) / "_images"
    for picture in [path for path in images.glob("*.svg") if not path.stem.endswith("-dark")]:
        night = picture.with_name(f"{picture.stem}-dark.svg")
        night.write_text(dark(picture.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: "Sphinx") -> None:
    """Pages show the pictures, and the dark ones are drawn."""
    app.connect("html-page-context", _show)
    app.connect("build-finished", _draw)
