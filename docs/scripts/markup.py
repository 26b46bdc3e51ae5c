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
    cells = [[cell.replace("|", "&#124;").replace("\n", "<br>") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
