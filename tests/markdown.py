"""Runs the python blocks of a Markdown page and compares what they print with the page."""

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCK = re.compile(
    r"^```python\n(.*?)^```$(?:\s*^```output\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A python block, and the output block that follows it, if one does."""

    line: int
    code: str
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield Block(text[: found.start()].count("\n") + 1, found[1], found[2])


def run(page: Path) -> dict[str, Any]:
    """Run the page from top to bottom in one namespace, which is returned."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page):
        code = compile("\n" * block.line + block.code, page, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        if block.output is not None:
            same = doctest.OutputChecker().check_output(block.output, printed.getvalue(), OPTIONS)
            place = f"{page.name}, line {block.line}"
            assert same, f"{place} prints\n{printed.getvalue()}\nnot\n{block.output}"
    return namespace
