"""Mixing weights of a graph: networkx graph → W, an (n, n) float64 torch sparse tensor.

Node i is the i-th label in sorted order (of insertion, if labels do not sort). An edge u → v of a
digraph means that u sends to v, w_vu > 0. Self-loops are ignored: w_ii is what is left of 1.
`metropolis` and `lazy_metropolis` are for undirected graphs, `laplacian` and `uniform` also for
weight-balanced digraphs. The edge attribute "weight" is read on digraphs only: on undirected graphs
the scheme alone sets the weights.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import networkx as nx
import torch
from torch import Tensor

from gossamer.errors import choice, require
from gossamer.networks.sparse import ROUNDING, coo

Graph: TypeAlias = "nx.Graph[Any]"
Scheme = Callable[[Graph], Tensor]


def metropolis(graph: Graph) -> Tensor:
    """Metropolis weights, w_ij = 1 / (1 + max(d_i, d_j)) on edges, d the degree without self-loops.

    Needs only the degrees of one's neighbours; the default everywhere.

    >>> metropolis(nx.path_graph(3)).to_dense()[0]
    tensor([0.6667, 0.3333, 0.0000], dtype=torch.float64)

    Reference: Xiao and Boyd, "Fast linear iterations for distributed averaging", 2004.
    """
    _require_undirected(graph, "metropolis")
    receiver, sender, link = _links(graph)
    degree = _in_weight(len(graph), receiver, link)
    return _mixing_matrix(
        len(graph), receiver, sender, 1 / (1 + torch.maximum(degree[receiver], degree[sender]))
    )


def lazy_metropolis(graph: Graph) -> Tensor:
    """Lazy Metropolis weights, w_ij = 1 / (2 max(d_i, d_j)) on edges.

    Every node keeps at least half of what it has, so that W has no negative eigenvalue.

    >>> lazy_metropolis(nx.path_graph(3)).to_dense()[0]
    tensor([0.7500, 0.2500, 0.0000], dtype=torch.float64)

    Reference: Olshevsky, "Linear time average consensus and distributed optimization on fixed
    graphs", 2017.
    """
    _require_undirected(graph, "lazy_metropolis")
    receiver, sender, link = _links(graph)
    degree = _in_weight(len(graph), receiver, link)
    return _mixing_matrix(
        len(graph), receiver, sender, 0.5 / torch.maximum(degree[receiver], degree[sender])
    )


def laplacian(graph: Graph) -> Tensor:
    """W = I − L/n with L = D − A the graph's Laplacian: a_ij/n on edges, a_ij = 1 if undirected.

    >>> laplacian(nx.path_graph(3)).to_dense()[0]
    tensor([0.6667, 0.3333, 0.0000], dtype=torch.float64)
    """
    receiver, sender, link = _links(graph)
    return _mixing_matrix(len(graph), receiver, sender, link / len(graph))


def uniform(graph: Graph) -> Tensor:
    """The same weight on every edge, w_ij = a_ij / (1 + max_i d_i), a_ij = 1 if undirected.

    On a digraph d_i is the weight that node i receives.

    >>> uniform(nx.DiGraph([(0, 1), (1, 2), (2, 0)])).to_dense()[0]
    tensor([0.5000, 0.0000, 0.5000], dtype=torch.float64)
    """
    receiver, sender, link = _links(graph)
    largest = _in_weight(len(graph), receiver, link).max()
    return _mixing_matrix(len(graph), receiver, sender, link / (1 + largest))


WEIGHTS: dict[str, Scheme] = {
    "metropolis": metropolis,
    "lazy_metropolis": lazy_metropolis,
    "laplacian": laplacian,
    "uniform": uniform,
}


def scheme(weights: str | Scheme) -> Scheme:
    """A scheme by its name, or itself."""
    return weights if callable(weights) else WEIGHTS[choice("weights", weights, WEIGHTS)]


def _links(graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """Receiver, sender and weight of every link, both ways if undirected, without self-loops."""
    _require_simple(graph)
    index = {label: i for i, label in enumerate(ordered_nodes(graph))}
    edges = [(index[v], index[u], a) for u, v, a in graph.edges(data="weight", default=1) if u != v]
    receiver, sender = torch.tensor([e[:2] for e in edges], dtype=torch.int64).reshape(-1, 2).T
    if graph.is_directed():
        link = torch.tensor([e[2] for e in edges], dtype=torch.float64)
        _require_balanced(graph, receiver, sender, link)
        return receiver, sender, link
    both = torch.cat([receiver, sender]), torch.cat([sender, receiver])
    return *both, torch.ones(2 * len(edges), dtype=torch.float64)


def ordered_nodes(graph: Graph) -> list[object]:
    """The labels sorted, or in order of insertion when they do not sort."""
    try:
        return sorted(graph.nodes)
    except TypeError:
        return list(graph.nodes)


def _in_weight(num_nodes: int, receiver: Tensor, link: Tensor) -> Tensor:
    return torch.zeros(num_nodes, dtype=torch.float64).index_add(0, receiver, link)


def _mixing_matrix(num_nodes: int, receiver: Tensor, sender: Tensor, weight: Tensor) -> Tensor:
    """`weight` on the links, and what is left of 1 on the diagonal."""
    nodes = torch.arange(num_nodes)
    values = torch.cat([weight, 1 - _in_weight(num_nodes, receiver, weight)])
    return coo(num_nodes, torch.cat([receiver, nodes]), torch.cat([sender, nodes]), values)


def _require_simple(graph: Graph) -> None:
    require(len(graph) > 0, "graph", graph, "at least one node")
    require(
        not graph.is_multigraph(),
        "graph",
        graph,
        "at most one edge between two nodes",
        "convert it with nx.Graph(graph) or nx.DiGraph(graph)",
    )


def _require_undirected(graph: Graph, name: str) -> None:
    require(
        not graph.is_directed(),
        "graph",
        graph,
        f"an undirected graph for {name} weights",
        'use weights="uniform" for a weight-balanced digraph, or graph.to_undirected()',
    )


def _require_balanced(graph: Graph, receiver: Tensor, sender: Tensor, link: Tensor) -> None:
    """In-weight = out-weight at each node: what makes the columns of W sum to 1 as the rows do."""
    flow_in, flow_out = (_in_weight(len(graph), end, link) for end in (receiver, sender))
    off = ((flow_in - flow_out).abs() > ROUNDING * (1 + flow_in)).nonzero().flatten().tolist()
    if off:
        node = ordered_nodes(graph)[off[0]]
        require(
            False,
            "graph",
            f"node {node!r} with in-weight {flow_in[off[0]]:g} and out-weight {flow_out[off[0]]:g}",
            "a weight-balanced digraph (equal at every node)",
            'set the edge attribute "weight", or use graph.to_undirected()',
        )
