"""LaTeX as MathML, which browsers show without any script."""

import re
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DIGITS = {r"\\([dt]?frac)(\d)(\w)": r"\\\1{\2}{\3}", r"\\sqrt(\d)": r"\\sqrt{\1}"}
"""Commands that take one digit each, where docutils takes the whole number."""

POLISH = {
    r"\n\s*": "",
    r"<mo>⟨</mo>": '<mo form="prefix" stretchy="false">⟨</mo>',
    r"<mo>⟩</mo>": '<mo form="postfix" stretchy="false">⟩</mo>',
    r'<mo class="mathopen">([|‖])</mo>': r'<mo form="prefix" stretchy="false">\1</mo>',
    r"<mo>([|‖])</mo>": r'<mo form="postfix" stretchy="false">\1</mo>',
    r'<mo stretchy="false">/</mo>': '<mo lspace="0" rspace="0" stretchy="false">/</mo>',
    r"<mo>(min|max|inf)</mo>(?!<mo)": r'<mi>\1</mi><mspace width="0.17em"/>',
    r"<mo>(min|max|inf)</mo>": r"<mi>\1</mi>",
    r"<mo>&ApplyFunction;</mo>(?!<mo)": '<mspace width="0.17em"/>',
    r"<mo>∶</mo><mo>=</mo>": "<mo>≔</mo>",
}
"""What docutils leaves to a style sheet: the space around bars, slashes and names of functions."""


def mathml(latex: str, *, block: bool = False) -> str:
    r"""The formula as an element of a page.

    >>> mathml(r"x / n")
    '<math xmlns="..."><mi>x</mi><mo lspace="0" rspace="0" ...>/</mo><mi>n</mi></math>'
    >>> mathml(r"\frac12 L")
    '<math xmlns="..."><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>L</mi></math>'
    """
    for found, better in DIGITS.items():
        latex = re.sub(found, better, latex)
    formula = tex2mathml(latex.strip(), as_block=block)
    for found, better in POLISH.items():
        formula = re.sub(found, better, formula)
    return formula


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(mathml(node.astext()))
    raise SkipNode


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>')
    raise SkipNode


def setup(app: "Sphinx") -> None:
    """Makes `html_math_renderer = "mathml"` known."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
