"""`gossamer network`: how fast a network averages, and which methods run on it."""

from collections.abc import Sequence
from pathlib import Path

import click

from gossamer.cli.network_words import explain
from gossamer.cli.own_code import import_option
from gossamer.cli.picture import picture_option
from gossamer.cli.terminal import say
from gossamer.errors import require
from gossamer.networks import Network, from_text
from gossamer.plots import panels, style

LABEL = 22
"""Width of the first column."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NETWORK")
@import_option
@picture_option("--figure", "a drawing")
def network(words: Sequence[str], figure: Path | None) -> None:
    """Show how fast a network averages, and which methods run on it.

    Neighbours, λ and mixing time; what is lost, compressed or left out and what stays exact all the
    same; and whether the theorems cover it.

    NETWORK is written as in Python, in quotes:

    \b
    gossamer network 'ring(20, hops=2)'
    gossamer network 'exponential(20, directed=False)'
    gossamer network 'torus(4, 5)' --figure torus.png
    gossamer network 'random_digraph(20, degree=3)'
    gossamer network 'ring(20).drops(0.1).compressed(TopK(0.1))'
    gossamer network 'ring(20).every(5)'
    gossamer network --import mine.py 'my_network(20).drops(0.1)'
    """
    require(len(words) == 1, "network", " ".join(words), "one text in quotes", _joined(words))
    net = from_text(words[0])
    for label, value in explain(net):
        _row(label, value)
    if figure is not None:
        _draw(net, figure)
        _row("figure", str(figure))


def _joined(words: Sequence[str]) -> str:
    """What was probably meant.

    >>> _joined(["ring", "20", "hops=2"]), _joined(["ring(20)", ".drops(0.1)"])
    ("write 'ring(20, hops=2)'", "write 'ring(20).drops(0.1)'")
    """
    name, *arguments = words
    chained = arguments and arguments[0].startswith(".")
    meant = "".join(words) if chained else f"{name}({', '.join(arguments)})"
    return f"write '{meant}'"


def _row(label: str, value: str) -> None:
    """A label, and its value on as many lines as it needs."""
    say(value, f"{label:<{LABEL}}", " " * LABEL)


def _draw(net: Network, path: Path) -> None:
    with style():
        figure, (ax,) = panels(1, width=5, height=5)
        net.draw(ax)
        figure.savefig(path)
