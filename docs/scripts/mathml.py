"""LaTeX in pages and docstrings, as MathML that browsers show without any script."""

import html
import re

from latex2mathml.converter import convert

MATH = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.+?)\\[)\]]</\1>', re.DOTALL)


def render(page: str) -> str:
    """Replace what the Markdown extension arithmatex marked.

    >>> render('<span class="arithmatex">\\\\(x^2\\\\)</span>')
    '<math ... display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    """
    return MATH.sub(lambda found: _mathml(found[3], block=found[2] == "["), page)


def _mathml(latex: str, *, block: bool) -> str:
    plain = html.unescape(html.unescape(latex)).strip()
    return convert(plain, display="block" if block else "inline")
