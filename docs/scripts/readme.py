"""Pages of the repository that are shown on the site: the README and the changelog."""

import re
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent.parent


def readme(_: str) -> str:
    """The whole README."""
    return in_tabs(from_docs((DOCS.parent / "README.md").read_text(encoding="utf-8")))


def in_tabs(text: str) -> str:
    """Subsections, which only the first example has, as tabs.

    >>> print(in_tabs("## A\\n\\n### B\\n\\nb\\n\\n### D\\n\\nd\\n\\n## C\\n"))
    ## A
    <BLANKLINE>
    ::::{tab-set}
    :::{tab-item} B
    <BLANKLINE>
    b
    <BLANKLINE>
    :::
    :::{tab-item} D
    <BLANKLINE>
    d
    <BLANKLINE>
    :::
    ::::
    <BLANKLINE>
    ## C
    <BLANKLINE>
    """
    tab = r"^### ([^\n]*)\n(.*?)(?=^### |\Z)"
    start, end = text.find("\n### ") + 1, text.find("\n## ", text.find("\n### ")) + 1
    tabs = re.sub(tab, ":::{tab-item} \\1\n\\2:::\n", text[start:end], flags=re.M | re.S)
    return f"{text[:start]}::::{{tab-set}}\n{tabs}::::\n\n{text[end:]}"


def section(title: str) -> str:
    """The text of one section of the README."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^(##+) {re.escape(title)}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    assert found, f"the README has no section {title!r}"
    return from_docs(found[2]).strip()


def changelog(_: str) -> str:
    """All versions, without the title."""
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    return from_docs(text.partition("\n")[2])


def from_docs(text: str) -> str:
    """Text of the repository's root seen from docs/; links that leave docs/ become plain text.

    >>> from_docs("[Extend](docs/extend.md#a-method), [licence](LICENSE)")
    '[Extend](extend.md#a-method), licence'
    >>> from_docs("<!-- not on the site -->\\nmake docs\\n<!-- on the site -->\\nread")
    'read'
    """
    text = re.sub(r"<!-- not on the site -->.*?<!-- on the site -->\n", "", text, flags=re.S)
    inside = re.sub(r"\]\(docs/", "](", text).replace("](CHANGELOG.md)", "](changelog.md)")
    link = r"\[([^\]]+)\]\((?!https?:)([^)#]+)[^)]*\)"
    return re.sub(link, lambda found: found[0] if (DOCS / found[2]).exists() else found[1], inside)


TABLES: dict[str, Callable[[str], str]] = {"readme": readme, "changelog": changelog}
