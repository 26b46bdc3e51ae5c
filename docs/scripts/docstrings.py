"""Docstrings as Markdown: equations keep their lines, doctests become code."""

import re

import griffe

EQUATIONS = re.compile(r"^(?!\s).*\S {3,}\S", re.MULTILINE)
"""A line with a gap: an equation on the left, what its symbols are on the right."""


def paragraphs(text: str) -> list[str]:
    """What blank lines separate."""
    return re.split(r"\n\s*\n", text.strip())


def markdown(text: str) -> str:
    """The docstring, its equations and doctests fenced.

    >>> markdown("Add.\\n\\nz = x + 1      x = `old`").splitlines()
    ['Add.', '', '```text', 'z = x + 1      x = `old`', '```']
    >>> markdown(">>> 1 + 1\\n2").splitlines()
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    return "\n\n".join(_fenced(paragraph) for paragraph in paragraphs(text))


def _fenced(paragraph: str) -> str:
    language = (
        "pycon" if paragraph.startswith(">>>") else "text" if EQUATIONS.search(paragraph) else None
    )
    return f"```{language}\n{paragraph}\n```" if language else paragraph


class Docstrings(griffe.Extension):
    """Lets the API reference show docstrings as `markdown` reads them."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite one object's docstring."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
