"""Markdown from rows."""

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2|3"]]))
    | a | b |
    | --- | --- |
    | 1 | 2&#124;3 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    """What stands in it; a deviation stays in one line with its sign."""
    return text.replace("|", "&#124;").replace("\n", "<br>").replace(" ± ", " ±\xa0")
