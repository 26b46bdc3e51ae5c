"""LaTeX as MathML, which browsers show without any script."""

import re
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def mathml(latex: str, *, block: bool = False) -> str:
    r"""The formula as an element of a page; bars of norms grow with what they hold.

    >>> mathml(r"\lVert x \rVert")
    '<math xmlns=...><mrow><mo>‖</mo><mi>x</mi><mo>‖</mo></mrow></math>'
    """
    paired = re.sub(r"\\l(vert|Vert)", r"\\left\\l\1", latex.strip())
    paired = re.sub(r"\\r(vert|Vert)", r"\\right\\r\1", paired)
    return re.sub(r"\n\s*", "", tex2mathml(paired, as_block=block))


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(mathml(node.astext()))
    raise SkipNode


def _block(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>')
    raise SkipNode


def setup(app: "Sphinx") -> None:
    """Makes `html_math_renderer = "mathml"` known."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
