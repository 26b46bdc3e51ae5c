"""`gossamer network`: what a network is worth."""

from collections.abc import Sequence
from pathlib import Path

import click

from gossamer.cli.picture import picture_option
from gossamer.errors import require
from gossamer.networks import Network, from_text
from gossamer.plots import panels, style


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NETWORK")
@picture_option("--figure", "a drawing")
def network(words: Sequence[str], figure: Path | None) -> None:
    """Show what a network is worth: λ, degrees, mixing time.

    NETWORK is written as in Python, in quotes:

    \b
    gossamer network 'ring(20, hops=2)'
    gossamer network 'ring(20, weights=laplacian)'
    gossamer network 'exponential(20, directed=False)'
    gossamer network 'torus(4, 5)' --figure torus.png
    gossamer network 'erdos_renyi(30, 0.2, seed=7)'
    """
    name, *arguments = words
    in_python = f"write '{name}({', '.join(arguments)})'"
    require(not arguments, "network", " ".join(words), "one call in quotes", in_python)
    net = from_text(name)
    for label, value in describe(net):
        click.echo(f"{label:<22}{value}")
    if figure is not None:
        _draw(net, figure)
        click.echo(f"{'figure':<22}{figure}")


def _draw(net: Network, path: Path) -> None:
    with style():
        figure, (ax,) = panels(1, width=5, height=5)
        net.draw(ax)
        figure.savefig(path)


def describe(net: Network) -> list[tuple[str, str]]:
    """Label and value of what a user wants to know of a network."""
    senders = net.at(0).in_degrees
    least, most = int(senders.min()), int(senders.max())
    rows = [
        ("network", net.name),
        ("nodes", f"{net.num_nodes:,}"),
        ("neighbours per node", f"{least}" if least == most else f"{least} to {most}"),
        ("λ", f"{net.lam:.6f}"),
        ("spectral gap 1 − λ", f"{net.spectral_gap:.3g}"),
        ("mixing time", f"{net.mixing_time():,} rounds until disagreement falls to 0.1 %"),
        ("messages per round", f"{int(senders.sum()):,} in all"),
    ]
    return rows if net.period == 1 else [*rows, ("period", f"{net.period} rounds, λ per round")]
