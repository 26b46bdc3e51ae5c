"""Where the nodes of a network are drawn: every family in its own shape."""

import math
import re
from collections.abc import Callable

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gossamer.networks.network import Network

SPRING_LIMIT = 500
"""Fewest nodes that go on a circle whatever the graph: springs would take too long."""

CUBE_SIDES = ((1.0, 0.0), (0.0, 1.0), (0.42, 0.3), (1.95, 0.72), (-0.72, 2.1))
"""Where a step along each dimension of a hypercube leads on paper."""

Places = NDArray[np.float64]
"""`(nodes, 2)`."""


def layout(network: Network, graph: "nx.Graph[int]") -> Places:
    """Where each node is drawn.

    Rings, complete and exponential graphs, and all that is drawn anew in every round, lie on a
    circle; a star, a line, a torus and a hypercube look like one; others are held by springs.
    """
    family, sizes = _built_by(network)
    own = OWN.get(family)
    if own is not None and (places := own(*sizes)).shape[0] == network.num_nodes:
        return places
    circulant = all(one.matrix.symbol is not None for one in network.rounds)
    if circulant or family in ON_CIRCLE or network.num_nodes >= SPRING_LIMIT:
        return circle(network.num_nodes)
    held = nx.spring_layout(graph.to_undirected(), seed=0, iterations=300, weight=None)
    return np.array([held[node] for node in range(network.num_nodes)])


def circle(n: int) -> Places:
    """Clockwise, the first on top."""
    angle = 2 * math.pi * np.arange(n) / n
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def star(n: int) -> Places:
    """The first amid the others."""
    return np.concatenate([np.zeros((1, 2)), circle(n - 1)]) if n > 1 else circle(n)


def line(n: int) -> Places:
    """From left to right, and back in the next row where it is long."""
    width = max(10, math.isqrt(2 * n))
    row, col = np.divmod(np.arange(n), width)
    return np.stack([np.where(row % 2, width - 1 - col, col), -row], axis=1).astype(float)


def torus(rows: int, cols: int) -> Places:
    """Row by row, the first on top."""
    row, col = np.divmod(np.arange(rows * cols), cols)
    return np.stack([col, -row], axis=1).astype(float)


def hypercube(dimension: int) -> Places:
    """A step to the side for every bit; on a circle where there are too many."""
    n = 2**dimension
    if dimension > len(CUBE_SIDES):
        return circle(n)
    bits = np.arange(n)[:, None] >> np.arange(dimension) & 1
    return bits @ np.array(CUBE_SIDES[:dimension]).reshape(-1, 2)


OWN: dict[str, Callable[..., Places]] = {
    "star": star,
    "line": line,
    "torus": torus,
    "hypercube": hypercube,
}
"""Family → the places of its nodes, from the numbers that it is called with."""

ON_CIRCLE = ("random_digraph", "random_matching", "erdos_renyi_each_round")


def grid_of(network: Network) -> tuple[int, int] | None:
    """Rows and columns of what is drawn as a torus."""
    family, sizes = _built_by(network)
    rows_and_columns = family == "torus" and math.prod(sizes) == network.num_nodes
    return (sizes[0], sizes[1]) if rows_and_columns else None


def _built_by(network: Network) -> tuple[str, list[int]]:
    """The family that the network is built from, and the numbers it is called with.

    >>> from gossamer.networks import torus
    >>> _built_by(torus(4, 5).drops(0.1))
    ('torus', [4, 5])
    """
    found = re.match(r"(\w+)\(((?:\d+(?:, )?)*)", network.recipe.expression)
    if found is None:
        return "", []
    return found[1], [int(number) for number in re.findall(r"\d+", found[2])]
