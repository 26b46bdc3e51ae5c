"""Runs the code blocks of a Markdown page and compares what they print with the page."""

import contextlib
import doctest
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FENCED = re.compile(
    r"^```([\w-]*|\{toctree\})\n(.*?)^```$(?:\s*^```output\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block, and the output block that follows it, if one does."""

    line: int
    language: str
    code: str
    output: str | None


def fenced(page: Path) -> Iterator[Block]:
    """Every block of the page but the outputs."""
    text = page.read_text(encoding="utf-8")
    for found in FENCED.finditer(text):
        yield Block(text[: found.start()].count("\n") + 1, *found.groups())


def blocks(page: Path) -> Iterator[Block]:
    """The python blocks."""
    return (block for block in fenced(page) if block.language == "python")


class Command(NamedTuple):
    """A line for a shell, and what it prints, where the page says so."""

    line: str
    output: str | None


def commands(page: Path) -> Iterator[Command]:
    """The lines of the shell blocks, which are marked bash or not at all."""
    for block in fenced(page):
        if block.language in ("", "bash"):
            whole = block.code.replace("\\\n", " ").strip().splitlines()
            parts = [part for line in whole for part in line.partition(" #")[0].split("&&")]
            for part in parts:
                yield Command(part.strip(), block.output if len(parts) == 1 else None)


def run(page: Path) -> dict[str, Any]:
    """Run the page from top to bottom in one namespace, which is returned."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page):
        code = compile("\n" * block.line + block.code, page, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        compare(f"{page.name}, line {block.line}", printed.getvalue(), block.output)
    return namespace


def compare(place: str, printed: str, output: str | None) -> None:
    """What was printed is what the page shows, if it shows anything."""
    if output is not None:
        same = doctest.OutputChecker().check_output(output, printed, OPTIONS)
        assert same, f"{place} prints\n{printed}\nnot\n{output}"
