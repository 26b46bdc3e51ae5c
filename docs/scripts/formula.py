"""Equations as docstrings have them, typed in Unicode or nearly in LaTeX, as LaTeX."""

import re
import unicodedata

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵗᵏᵖⁿᵢᵀ", [*"0123456789+-tkpni", r"\top"], strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₜₖₗᵢⱼᵣₙ", "0123456789+-tklijrn", strict=True))
SYMBOLS = {
    "−": "-", "⊙": r"\odot ", "·": r"\cdot ", "≈": r"\approx ", "∇": r"\nabla ", "√": r"\sqrt",
    "Σ": r"\Sigma ", "–": "-", "←": r"\leftarrow ", "≤": r"\le ",
    "…": r"\ldots ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
}  # fmt: skip
ACCENTS = {"\u0302": "hat", "\u0304": "bar"}


def latex(equation: str) -> str:
    r"""The equation in LaTeX.

    >>> latex("xᵗ⁺¹ = W (xᵗ − α yᵗ/‖yᵗ‖)")
    'x^{t+1} = W (x^{t} - α y^{t}/\\lVert y^{t}\\rVert )'
    >>> latex("Ψₜ(z) = z / √(z² + τ (t+1)^(3/5))")
    'Ψ_{t}(z) = z / \\sqrt{z^{2} + τ (t+1)^{3/5}}'
    >>> latex("m̂ᵗ = sign(0)")
    '\\hat{m}^{t} = \\operatorname{sign}(0)'
    """
    text = unicodedata.normalize("NFD", equation)
    text = re.sub(f"(.)([{''.join(ACCENTS)}])", lambda m: rf"\{ACCENTS[m[2]]}{{{m[1]}}}", text)
    if "\\" not in equation:
        text = re.sub(r"(?<![\\\w])([A-Za-z]{2,})", r"\\operatorname{\1}", text)
    text = text.replace(r"\operatorname{where}", r"\quad\text{where}\quad ")
    text = _scripts(_scripts(text, "^", RAISED), "_", LOWERED)
    text = re.sub(r"√(\\operatorname\{\w+\}(_\{\w+\})?)", r"√{\1}", text)
    for sign in ("√", "^"):
        text = _braced(text, sign)
    text = re.sub(r"(‖|\\\|)(.*?)\1", r"\\lVert \2\\rVert ", text)
    for symbol, command in SYMBOLS.items():
        text = text.replace(symbol, command)
    text = re.sub(r"\\([Bb]ig)(?=\\?[(\[{])", r"\\\1l", text)
    return re.sub(r"\\([Bb]ig)(?=\\?[)\]}])", r"\\\1r", text).strip()


def _scripts(text: str, mark: str, letters: dict[str, str]) -> str:
    """Runs of raised or lowered letters in braces."""

    def braced(run: re.Match[str]) -> str:
        return f"{mark}{{{''.join(letters[letter] for letter in run[0])}}}"

    return re.sub(f"[{''.join(letters)}]+", braced, text)


def _braced(text: str, sign: str) -> str:
    """The parentheses that follow a sign, as braces."""
    before, found, after = text.partition(f"{sign}(")
    if not found:
        return text
    depth = 1
    for end, letter in enumerate(after):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return f"{before}{sign}{{{after[:end]}}}{_braced(after[end + 1 :], sign)}"
    raise ValueError(f"unbalanced parentheses in {text!r}")
