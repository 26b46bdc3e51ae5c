"""Tables and paragraphs as plain text."""

import re
import textwrap
from collections.abc import Sequence

WIDTH = 80
"""Columns that every terminal has."""

NO_BREAK = "\u00a0"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line per row, every column as wide as its widest cell; columns of numbers end together.

    >>> aligned([["network", "bound"], ["ring", "3"], ["complete", "0.9"]])
    ['network   bound', 'ring          3', 'complete    0.9']
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    sides = [str.rjust if _numbers(column[1:]) else str.ljust for column in columns]
    return [
        "  ".join(
            side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


NUMBER = re.compile(r"-?[\d,]+(\.\d+)?(e[+-]\d+)?( ?%| [kMGT]?B)?|[–─]+")
"""With its unit; a dash or a rule may stand among numbers."""


def _numbers(cells: Sequence[str]) -> bool:
    return all(NUMBER.fullmatch(cell) for cell in cells)


def listing(words: Sequence[str]) -> str:
    """Words with commas between them, the last after "and"; "none" where there are none.

    >>> listing(["ring"]), listing(["ring", "path", "star"]), listing([])
    ('ring', 'ring, path and star', 'none')
    """
    *first, last = words or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, thing: str) -> str:
    """How many there are of a thing.

    >>> counted(1, "seed"), counted(1260, "setting")
    ('1 seed', '1,260 settings')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def below_one(value: float, spec: str) -> str:
    """A number below 1, which is never rounded to 1.

    >>> below_one(0.96737, ".4f"), below_one(1 - 1e-7, ".4f")
    ('0.9674', '1 − 1e-07')
    """
    shown = format(value, spec)
    return shown if float(shown) < 1 else f"1 − {1 - value:.2g}"


def wrapped(text: str, columns: int = WIDTH, first: str = "", then: str = "") -> list[str]:
    """Lines of whole words; what stands in backticks stays on one line, if it fits on one.

    >>> wrapped("Draw it with `gossamer report --size full` when it is done.", 32)
    ['Draw it with', '`gossamer report --size full`', 'when it is done.']
    """
    parts = text.split("`")
    room = columns - len(then) - len("``.")
    parts[1::2] = [p.replace(" ", NO_BREAK) if len(p) <= room else p for p in parts[1::2]]
    wrapper = textwrap.TextWrapper(columns, initial_indent=first, subsequent_indent=then)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return [line.replace(NO_BREAK, " ") for line in wrapper.wrap("`".join(parts))]


def ordinal(k: int) -> str:
    """The number in a row.

    >>> [ordinal(k) for k in (1, 2, 3, 5, 12, 21)]
    ['1st', '2nd', '3rd', '5th', '12th', '21st']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{'th' if 10 <= k % 100 <= 20 else ending}"
