"""Network, problem and noise of a task: the same options and defaults in every command."""

import click

from gossamer.errors import require
from gossamer.networks import Network, from_text, ring
from gossamer.problems import PROBLEMS, Problem
from gossamer.spec import build

DEFAULT_NODES = 20

network_option = click.option(
    "--network",
    "-n",
    default=None,
    help=f"A network; by default the 2-hop ring on the problem's nodes, or on {DEFAULT_NODES}.",
)

DEFAULT_NOISE = "AlphaStable(1.5, skewness=0.5, scale=0.1)"

problem_option = click.option(
    "--problem",
    "-p",
    default=None,
    help="A problem; by default RobustRegression on the network's nodes.",
)


def build_task(network: str | None, problem: str | None) -> tuple[Network, Problem]:
    """What the two options describe: each fits the other where only one is given."""
    net = None if network is None else from_text(network)
    nodes = DEFAULT_NODES if net is None else net.num_nodes
    task = build("problem", problem or f"RobustRegression({nodes})", PROBLEMS)
    if net is None:
        return ring(task.num_nodes, hops=max(1, min(2, task.num_nodes // 2))), task
    found = f"{net.num_nodes} nodes where {problem} has {task.num_nodes}"
    same = net.num_nodes == task.num_nodes
    require(same, "network", found, "the same number", f"e.g. -n 'ring({task.num_nodes})'")
    return net, task
