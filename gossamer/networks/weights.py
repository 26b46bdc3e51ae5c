"""Mixing weights of a graph: networkx graph → W, (n, n) in float64.

Node i is the i-th label in sorted order (of insertion, if labels do not sort). An edge u → v of a
digraph means that u sends to v, w_vu > 0. Self-loops are ignored: w_ii is what is left of 1.
`metropolis` and `lazy_metropolis` are for undirected graphs, `laplacian` and `max_degree` also for
weight-balanced digraphs. The edge attribute "weight" is read on digraphs only: on undirected graphs
the rule alone sets the weights.
"""

from collections.abc import Callable
from typing import TypeGuard

import torch
from torch import Tensor

from gossamer.errors import choice, require
from gossamer.networks.links import Graph, Links, received
from gossamer.networks.sparse import coo

Weighting = Callable[[Graph], Tensor]
"""A function from a graph to its mixing matrix, dense or sparse."""


RULES: dict[str, Callable[[Links], Tensor]] = {
    "metropolis": lambda links: 1 / (1 + links.larger_degree),
    "lazy_metropolis": lambda links: 0.5 / links.larger_degree,
    "laplacian": lambda links: links.weight / links.num_nodes,
    "max_degree": lambda links: links.weight / (1 + links.degree.max()),
}
"""Name → w_ij of every link."""

FOR_UNDIRECTED = ("metropolis", "lazy_metropolis")


def metropolis(graph: Graph) -> Tensor:
    """Metropolis weights: w_ij = 1 / (1 + max(d_i, d_j)) on edges, with degrees d.

    Self-loops do not count. A node needs to know only its own degree and those of its neighbours.
    These weights are the default on undirected graphs, except in `exponential`.

    >>> import networkx as nx
    >>> metropolis(nx.path_graph(3))[0]
    tensor([0.6667, 0.3333, 0.0000], dtype=torch.float64)

    Reference: Xiao and Boyd, "Fast linear iterations for distributed averaging", 2004.
    """
    return mixing_matrix(links_for(graph, "metropolis"), "metropolis").to_dense()


def lazy_metropolis(graph: Graph) -> Tensor:
    """Lazy Metropolis weights: w_ij = 1 / (2 max(d_i, d_j)) on edges, with degrees d.

    Every node gives itself a weight of at least ½, so that W has no negative eigenvalue.

    >>> import networkx as nx
    >>> lazy_metropolis(nx.path_graph(3))[0]
    tensor([0.7500, 0.2500, 0.0000], dtype=torch.float64)

    Reference: Olshevsky, "Linear time average consensus and distributed optimization on fixed
    graphs", 2017.
    """
    return mixing_matrix(links_for(graph, "lazy_metropolis"), "lazy_metropolis").to_dense()


def laplacian(graph: Graph) -> Tensor:
    """Laplacian weights: W = I − L/n with the graph's Laplacian L = D − A.

    So w_ij = a_ij/n on edges, where a_ij is 1 on an undirected graph and the edge attribute
    "weight" (1 if absent) on a digraph.

    >>> import networkx as nx
    >>> laplacian(nx.path_graph(3))[0]
    tensor([0.6667, 0.3333, 0.0000], dtype=torch.float64)
    """
    return mixing_matrix(links_for(graph, "laplacian"), "laplacian").to_dense()


def max_degree(graph: Graph) -> Tensor:
    """Maximum-degree weights: w_ij = a_ij / (1 + max_k d_k) on edges.

    On an undirected graph a_ij = 1 and d_k is the degree of node k. On a digraph a_ij is the edge
    attribute "weight" (1 if absent), and d_k is the weight that node k receives.

    >>> import networkx as nx
    >>> max_degree(nx.DiGraph([(0, 1), (1, 2), (2, 0)]))[0]
    tensor([0.5000, 0.0000, 0.5000], dtype=torch.float64)
    """
    return mixing_matrix(links_for(graph, "max_degree"), "max_degree").to_dense()


FUNCTIONS = (metropolis, lazy_metropolis, laplacian, max_degree)
"""The rules as functions, each named after its rule."""


def is_own(weights: str | Weighting) -> TypeGuard[Weighting]:
    """Whether weights are a function of the user's."""
    return callable(weights) and weights not in FUNCTIONS


def rule_of(weights: str | Weighting) -> str:
    """The name of a rule that is given by its name or its function."""
    return choice("weights", weights.__name__ if callable(weights) else weights, RULES)


def links_for(graph: Graph, rule: str) -> Links:
    """The links of a graph, if the rule is made for its kind."""
    if rule in FOR_UNDIRECTED:
        _require_undirected(graph, rule)
    return Links.of_graph(graph)


def mixing_matrix(links: Links, rule: str) -> Tensor:
    """W as a sparse tensor: the rule's weight on every link, and what is left of 1 on w_ii."""
    on_link, nodes = RULES[rule](links), torch.arange(links.num_nodes)
    kept = 1 - received(links.num_nodes, links.receiver, on_link)
    row, col = torch.cat([links.receiver, nodes]), torch.cat([links.sender, nodes])
    return coo(links.num_nodes, row, col, torch.cat([on_link, kept]))


def _require_undirected(graph: Graph, rule: str) -> None:
    require(
        not graph.is_directed(),
        "graph",
        graph,
        f"an undirected graph for {rule} weights",
        'use weights="max_degree" for a weight-balanced digraph, or graph.to_undirected()',
    )
