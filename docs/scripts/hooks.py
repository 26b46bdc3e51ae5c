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

from from_code import defined
from mathml import render
from tables import fill

import gossamer as gs

PARTS = (
    "networks",
    "noise",
    "algorithms",
    "problems",
    "data",
    "models",
    "simulation",
    "distributed",
    "theory",
    "tails",
    "executors",
    "experiments",
    "report",
    "plots",
    "colours",
    "svg",
    "errors",
)
"""The API reference has a page for each."""


def on_config(config: Any) -> Any:
    """Complete the navigation: a page per method and per part, and guides it does not name."""
    named = {path for entry in config.nav for path in _paths(entry)}
    added = {
        "Methods": [{name: f"algorithms/{name}.md"} for name in [*gs.ALGORITHMS, "PushSum"]],
        "API": [{name: f"reference/{name}.md"} for name in PARTS],
        "Guides": sorted(page.name for page in DOCS.glob("*.md") if page.name not in named),
    }
    for entry in config.nav:
        for title in set(entry) & set(added):
            first = entry[title] if isinstance(entry[title], list) else [{"Overview": entry[title]}]
            entry[title] = first + added[title]
    return config


def _paths(entry: Any) -> list[str]:
    """The pages that an entry of the navigation names."""
    if isinstance(entry, str):
        return [entry]
    inside = entry if isinstance(entry, list) else entry.values()
    return [path for part in inside for path in _paths(part)]


def on_files(files: Files, config: Any) -> Files:
    """Add the home page, which is the README, and the API pages."""
    pages = {f"reference/{name}.md": reference(name) for name in PARTS}
    pages["index.md"] = home((DOCS.parent / "README.md").read_text(encoding="utf-8"))
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill in the tables and the sections of the README."""
    filled = fill(markdown, Path(page.file.src_uri).stem)
    return re.sub(
        r'^\[The section "(.+)" of the README\]\(.+\)$',
        lambda found: section(found[1]),
        filled,
        flags=re.MULTILINE,
    )


def on_page_content(html: str, **_: Any) -> str:
    """Turn LaTeX into MathML."""
    return render(html)


def reference(part: str) -> str:
    """The API page of a part: its docstring, then every public class and function.

    >>> "::: gossamer.errors.require" in reference("errors").splitlines()
    True
    """
    module = import_module(f"gossamer.{part}")
    exported = getattr(module, "__all__", vars(module))
    paths = [defined(getattr(module, name)) for name in exported]
    public = [path for path in paths if path and path.startswith(module.__name__)]
    page = [f"# gossamer.{part}", inspect.getdoc(module) or ""]
    return "\n\n".join(page + [f"::: {path}" for path in public])


def section(title: str) -> str:
    """The text of one section of the README."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    return home(text.partition(f"## {title}\n")[2].partition("\n## ")[0]).strip()


def home(readme: str) -> str:
    """The README with its links seen from docs/; those that leave docs/ become plain text.

    >>> home("[Extend](docs/extend.md#a-method), [licence](LICENSE)")
    '[Extend](extend.md#a-method), licence'
    >>> home("<!-- not on the site -->\\nmake docs\\n<!-- on the site -->\\nread")
    'read'
    """
    readme = re.sub(r"<!-- not on the site -->.*?<!-- on the site -->\n", "", readme, flags=re.S)
    inside = re.sub(r"\]\(docs/", "](", readme)
    link = r"\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)"
    return re.sub(link, lambda found: found[0] if (DOCS / found[2]).exists() else found[1], inside)
