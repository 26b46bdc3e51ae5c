"""LaTeX of tables: text escaped, numbers typeset; it needs no package but booktabs."""

import math
import re
from collections.abc import Sequence

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "–": "--",
    "×": r"$\times$",
    "±": r"$\pm$",
}


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]], alignment: str) -> str:
    r"""A table of cells that are LaTeX already; `alignment` has a letter per column.

    >>> print(tabular(["Method", "Error"], [["DSGD", "$0.1$"]], "lr"))
    \begin{tabular}{lr}
      \toprule
      Method & Error \\
      \midrule
      DSGD & $0.1$ \\
      \bottomrule
    \end{tabular}
    """
    first, *others = (f"  {' & '.join(row)} \\\\" for row in (head, *rows))
    begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
    return "\n".join([begin, r"  \toprule", first, r"  \midrule", *others, r"  \bottomrule", end])


def typeset(text: str) -> str:
    r"""Plain text, with its special characters escaped and its powers of ten written out.

    >>> print(typeset("clip_exponent = 5e-06, 100 %"))
    clip\_exponent = $5 \times 10^{-6}$, 100 \%
    """
    escaped = "".join(SPECIAL.get(character, character) for character in text)
    return re.sub(
        r"(?<![\w.])[\d.]+e[+-]\d+", lambda found: f"${number(float(found[0]))}$", escaped
    )


def number(value: float, digits: int = 3) -> str:
    r"""Some digits of a finite number, inside of mathematics.

    >>> print(number(0.0012), number(0.25), number(1e-5))
    1.2 \times 10^{-3} 0.25 10^{-5}
    """
    power = _power(value)
    if power == 0:
        return f"{value:.{digits}g}"
    factor = f"{value / 10**power:.{digits}g}"
    return f"10^{{{power}}}" if factor == "1" else rf"{factor} \times 10^{{{power}}}"


def plus_minus(middle: float, deviation: float, bold: bool, digits: int = 3) -> str:
    r"""Middle ± deviation to as many places, some digits of the middle.

    >>> print(plus_minus(0.1238, 0.0051, bold=False))
    0.124 \pm 0.005
    >>> print(plus_minus(0.001238, 0.000051, bold=True))
    (\mathbf{1.24} \pm 0.05) \times 10^{-3}
    """
    power = _power(middle)
    scaled = float(f"{abs(middle) / 10**power:.{digits}g}")
    places = digits - 1 - (math.floor(math.log10(scaled)) if scaled else 0)
    first, second = (f"{v / 10**power:.{max(0, places)}f}" for v in (middle, deviation))
    both = rf"{strong(first, bold)} \pm {second}"
    return both if power == 0 else rf"({both}) \times 10^{{{power}}}"


def strong(mathematics: str, bold: bool) -> str:
    """In bold letters, or not."""
    return rf"\mathbf{{{mathematics}}}" if bold else mathematics


def _power(value: float) -> int:
    """Of the ten that is written beside a number; 0 where none is needed."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return 0
    return int(f"{value:.2e}".partition("e")[2])
