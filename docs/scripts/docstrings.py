"""Docstrings for the site: typed in Markdown, handed to autodoc as reStructuredText."""

import html
import re
from typing import TYPE_CHECKING, Any

from formula import latex
from mathml import mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx

EQUATIONS = re.compile(r"^(?!\s|>>>).*\S {3,}\S", re.MULTILINE)
"""A line with a gap: an equation on the left, what its symbols are on the right."""

SPAN = re.compile(r"(``.+?``|`[^`]+`|\\\(.+?\\\))", re.DOTALL)
"""Code, or a formula."""

EMPHASIS = re.compile(r"(\*\*\S.*?\S\*\*|(?<![\w*])\*\w[^*]*\w\*(?![\w*]))", re.DOTALL)


def paragraphs(text: str) -> list[str]:
    """What blank lines separate."""
    return re.split(r"\n\s*\n", text.strip())


def equations(paragraph: str) -> str:
    """A table of one row per equation, with what its symbols are called in code.

    >>> equations("z = x      x = `old`")
    '<div ...><table class="equations"><tr><td><math ...</td><td><math ...<code>old</code></td>...'
    """
    rows = "".join(_equation(line) for line in paragraph.splitlines())
    return f'<div class="equations-box"><table class="equations">{rows}</table></div>'


def _equation(line: str) -> str:
    equation, _, symbols = re.sub(r" {3,}", "\t", line).partition("\t")
    return f"<tr><td>{mathml(latex(equation))}</td><td>{_symbols(symbols)}</td></tr>"


def _symbols(text: str) -> str:
    """Symbols and their names, separated by commas; what has three words is no formula.

    >>> _symbols("one number per node, α = `lr`")
    'one number per node, <math ...<mi>α</mi><mo>=</mo></math> <code>lr</code>'
    """
    return ", ".join(map(_symbol, text.split(", "))) if text else ""


def _symbol(text: str) -> str:
    formula, _, name = text.partition("`")
    if re.search(r"[a-z]{2,} [a-z]{2,}", formula):
        return html.escape(text)
    shown = mathml(latex(formula)) if formula else ""
    return f"{shown} <code>{name.rstrip('`')}</code>" if name else shown


def markdown(text: str) -> str:
    r"""The docstring with its formulas as pages have them.

    >>> markdown(r"noise with \(E|X| = ∞\)")
    'noise with $E\\vert X\\vert  = ∞$'
    """
    formula = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
    return formula.sub(lambda found: f"${latex(found[1])}$".replace("|", r"\vert "), text)


def restructured(text: str) -> str:
    """The docstring in reStructuredText: equations typeset, names linked, all else as it is.

    >>> restructured("The optimum w* of `Run` and `x + 1`, *all* of f_, up to T.")
    'The optimum w\\\\* of :py:obj:`Run` and ``x + 1``, *all* of f\\\\_, up to T\\\\.'
    """
    return "\n\n".join(map(_paragraph, paragraphs(text)))


def _paragraph(paragraph: str) -> str:
    if paragraph.lstrip().startswith(">>>"):
        return paragraph
    if EQUATIONS.search(paragraph):
        return f".. raw:: html\n\n   {equations(paragraph)}"
    if "$$" in paragraph:
        words, formula, rest = paragraph.split("$$", 2)
        block = (
            f".. raw:: html\n\n   <div class='formula'>{mathml(latex(formula), block=True)}</div>"
        )
        return "\n\n".join(part for part in (_plain(words), block, _plain(rest)) if part)
    return _plain(paragraph)


def _plain(paragraph: str) -> str:
    parts = SPAN.split(paragraph.strip("\n"))
    return "".join(_span(part) if k % 2 else _prose(part) for k, part in enumerate(parts))


def _span(span: str) -> str:
    if span.startswith("\\("):
        return f":math:`{latex(span[2:-2])}`"
    name = span.strip("`")
    known = re.fullmatch(r"(gs\.)?([A-Za-z_][\w.]*)", name)
    return f":py:obj:`{name.replace('gs.', 'gossamer.', 1)}`" if known else f"``{name}``"


def _prose(text: str) -> str:
    parts = EMPHASIS.split(text)
    return "".join(part if k % 2 else _escaped(part) for k, part in enumerate(parts))


def _escaped(text: str) -> str:
    linked = re.sub(r"\[([^\]]+)\]\((https?:[^)]+)\)", r"`\1 <\2>`__", text.replace("\\", "\\\\"))
    return re.sub(r"[*|]|(?<=\w)_(?!\w)|(?<=\b\w)\.(?!\w)", lambda found: f"\\{found[0]}", linked)


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Answers autodoc, before its sections are read by napoleon.

    In the first line of an attribute napoleon would take the words before a colon for a type; an
    empty comment is put there.
    """
    first = ["..", ""] if what in {"attribute", "data", "property"} else []
    lines[:] = first + restructured("\n".join(lines)).splitlines()


def setup(app: "Sphinx") -> None:
    """Every docstring of the API goes through `restructured`."""
    app.connect("autodoc-process-docstring", _process, priority=400)
