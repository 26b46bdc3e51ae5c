"""Network, problem and noise of a task: the same options and defaults in every command."""

import click

from gossamer.networks import NETWORKS, Network
from gossamer.problems import PROBLEMS, Problem
from gossamer.spec import build

network_option = click.option("--network", "-n", default="ring(20, hops=2)", show_default=True)

DEFAULT_NOISE = "AlphaStable(1.5, skewness=0.5, scale=0.1)"

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
