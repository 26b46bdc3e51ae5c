"""Tables as plain text."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line per row, every column as wide as its widest cell.

    >>> aligned([["λ", "bound"], ["0.904", "3"]])
    ['λ      bound', '0.904  3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
