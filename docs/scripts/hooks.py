"""What the site generates while it is built: home page, navigation, API pages, tables."""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent))

from tables import fill

import gossamer as gs

PACKAGES = (
    "networks",
    "noise",
    "algorithms",
    "problems",
    "data",
    "models",
    "simulate",
    "distributed",
    "theory",
    "tails",
    "experiments",
    "report",
)
"""The API reference has a page for each."""


def on_config(config: Any) -> Any:
    """Complete the navigation: a page per method and per package."""
    methods = [{name: f"algorithms/{name}.md"} for name in gs.ALGORITHMS]
    packages = [{name: f"reference/{name}.md"} for name in PACKAGES]
    for entry in config.nav:
        for title, added in (("Methods", methods), ("API", packages)):
            if title in entry:
                entry[title] = [{"Overview": entry[title]}, *added]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the home page, which is the README, and the API pages."""
    pages = {f"reference/{name}.md": reference(name) for name in PACKAGES}
    pages["index.md"] = home((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in the tables and the sections of the README."""
    filled = fill(markdown, Path(page.file.src_uri).stem)
    return re.sub(
        r"^\[readme: (.+)\]$", lambda found: section(found[1]), filled, flags=re.MULTILINE
    )


def reference(package: str) -> str:
    """The API page of a package: its docstring, then every public class and function."""
    module = import_module(f"gossamer.{package}")
    public = [name for name in module.__all__ if _documented(getattr(module, name))]
    page = [f"# gossamer.{package}", inspect.getdoc(module) or ""]
    return "\n\n".join(page + [f"::: gossamer.{package}.{name}" for name in public])


def _documented(thing: object) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(thing)


def section(title: str) -> str:
    """The text of one section of the README."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    return home(text.partition(f"## {title}\n")[2].partition("\n## ")[0]).strip()


def home(readme: str) -> str:
    """The README with its links seen from docs/; those that leave docs/ become plain text.

    >>> home("[Extend](docs/extend.md), [licence](LICENSE)")
    '[Extend](extend.md), licence'
    """
    inside = re.sub(r"\]\(docs/", "](", readme)
    kept = r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)"
    return re.sub(kept, lambda found: found[0] if (DOCS / found[2]).exists() else found[1], inside)
