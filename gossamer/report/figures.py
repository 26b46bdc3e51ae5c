"""Figures as files, in the formats people ask for."""

from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.files import whole_file
from gossamer.plots import style
from gossamer.svg import for_both

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")


def save_figure(figure: "Figure", stem: Path) -> dict[str, Path]:
    """Write `stem`.png, .svg and .pdf, each whole or not at all; returns format → path."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = {fmt: stem.with_name(f"{stem.name}.{fmt}") for fmt in FORMATS}
    for fmt, path in paths.items():
        with style(), whole_file(path) as partial:
            if fmt == "svg":
                partial.write_text(for_both(figure), encoding="utf-8")
            else:
                figure.savefig(partial, format=fmt)
        figure.set_layout_engine("none")  # the layout is found; finding it takes most of the time
    return paths
