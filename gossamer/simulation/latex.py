"""LaTeX of tables: text escaped, numbers typeset; it needs no package but booktabs."""

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


def number(value: float) -> str:
    r"""Three digits of a finite number, inside of mathematics.

    >>> print(number(0.0012), number(0.25), number(-1e6))
    1.2 \times 10^{-3} 0.25 -1 \times 10^{6}
    """
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.3g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return rf"{float(digits):g} \times 10^{{{int(power)}}}"
