"""What the site makes while it is built: tables, words of the README, formulas and pictures."""

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docstrings
import linked
import mathml
from readme import section
from tables import fill

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _fill(app: Any, page: str, content: list[str]) -> None:
    content[0] = whole(content[0], Path(page).stem)


def whole(text: str, page: str) -> str:
    """The page with its tables and the sections of the README that it names."""
    return re.sub(
        r'^\[The section "(.+)" of the README\]\(.+\)$',
        lambda found: section(found[1]),
        fill(text, page),
        flags=re.MULTILINE,
    )


def _copy_assets(app: Any, exception: Exception | None) -> None:
    """What pages bring along has the same address on the site as in docs/."""
    assets = Path(app.srcdir) / "assets"
    if assets.is_dir():
        shutil.copytree(assets, Path(app.outdir) / "assets", dirs_exist_ok=True)


def setup(app: "Sphinx") -> dict[str, bool]:
    """An extension of Sphinx."""
    app.connect("source-read", _fill)
    app.connect("build-finished", _copy_assets)
    mathml.setup(app)
    docstrings.setup(app)
    linked.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
