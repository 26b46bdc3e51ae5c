"""What the commands say: as wide as the terminal, in whole words, in colours with a meaning."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from gossamer.text import WIDTH, wrapped

Paint = Callable[[str], str]


def columns() -> int:
    """Of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def width() -> int:
    """Of paragraphs: longer lines are hard to read, however wide the terminal."""
    return min(columns(), WIDTH)


def echo(line: str = "") -> None:
    """Print a line; where there is a bar, above it."""
    click.echo(line, file=sys.stdout)  # by default, click evades the bar and breaks into its line


def say(text: str, first: str = "", then: str = "", *, head: str = "", paint: Paint = str) -> None:
    """Print a paragraph, its first line after `first` and the others after `then`.

    Args:
        text: of whole words.
        first: before its first line.
        then: before the others.
        head: words that the text begins with, which are painted.
        paint: what gives them their colour.
    """
    begin, *others = wrapped(head + text, width(), first, then)
    for line in (begin.replace(head, paint(head), 1) if head else begin, *others):
        echo(line)


def say_command(command: str, options: Iterable[tuple[str, str]]) -> None:
    """Print a command to copy: on one line, or on one for each option."""
    words = [command, *(f"{flag} {shlex.quote(word)}" for flag, word in options)]
    line = "  " + " ".join(words)
    click.echo(line if len(line) <= width() else "  " + " \\\n      ".join(words))


def good(text: str) -> str:
    """In the colour of what is best, or holds."""
    return click.style(text, fg="green")


def middling(text: str) -> str:
    """In the colour of what holds in part."""
    return click.style(text, fg="yellow")


def bad(text: str) -> str:
    """In the colour of what failed."""
    return click.style(text, fg="red")


def colours() -> dict[str, Any]:
    """What click is told: no colour where NO_COLOR is set; else its own rule, on terminals only."""
    return {"color": False} if os.environ.get("NO_COLOR") else {}
