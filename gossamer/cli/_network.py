"""`gossamer network`: what a network is worth."""

from pathlib import Path

import click

from gossamer.cli.picture import picture_option
from gossamer.networks import Network
from gossamer.spec import NETWORKS, build


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("arguments", nargs=-1)
@picture_option("--draw", "a drawing")
def network(name: str, arguments: tuple[str, ...], draw: Path | None) -> None:
    """Show what a network is worth: λ, degrees, mixing time.

    NAME is a family, ARGUMENTS what its constructor takes:

    \b
    gossamer network ring 20 hops=2
    gossamer network ring 20 weights=laplacian
    gossamer network exponential 20 directed=False
    gossamer network torus 4 5 --draw torus.png
    gossamer network erdos_renyi 30 0.2 seed=7
    """
    net = build("network", f"{name}({', '.join(arguments)})" if arguments else name, NETWORKS)
    for label, value in describe(net):
        click.echo(f"{label:<22}{value}")
    if draw is not None:
        from gossamer.plots import panels, style

        with style():
            figure, (ax,) = panels(1, width=5, height=5)
            net.draw(ax)
            figure.savefig(draw)
        click.echo(f"{'drawing':<22}{draw}")


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
