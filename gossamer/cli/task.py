"""The options that name a network and a problem on it, the same in every command."""

import click

from gossamer.networks import NETWORKS, Network
from gossamer.problems import PROBLEMS, Problem
from gossamer.spec import build

network_option = click.option("--network", "-n", default="ring(20, hops=2)", show_default=True)

problem_option = click.option(
    "--problem",
    "-p",
    default=None,
    help="A problem; by default RobustRegression on the network's nodes.",
)


def build_task(network: str, problem: str | None) -> tuple[Network, Problem]:
    """What the two options describe."""
    net = build("network", network, NETWORKS)
    return net, build("problem", problem or f"RobustRegression({net.num_nodes})", PROBLEMS)
