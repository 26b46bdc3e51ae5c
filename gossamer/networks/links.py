"""Who sends to whom: the links of a graph, in one order."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.networks.sparse import ROUNDING

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"


@dataclass(frozen=True)
class Links:
    """All links of a graph, both ways if undirected, without self-loops.

    Sorted by receiver and sender, so that equal graphs have equal bits.

    Args:
        num_nodes: n.
        receiver: i of each link, (links,).
        sender: j of each link, (links,).
        weight: a_ij of each link, (links,), 1 if undirected.
    """

    num_nodes: int
    receiver: Tensor
    sender: Tensor
    weight: Tensor

    @classmethod
    def undirected(cls, num_nodes: int, u: Tensor, v: Tensor) -> "Links":
        """Of the edges u—v in any order, even given twice.

        >>> Links.undirected(2, torch.tensor([0, 1, 1]), torch.tensor([1, 0, 1])).sender.tolist()
        [1, 0]
        """
        u, v = u[u != v], v[u != v]
        places = torch.cat([u * num_nodes + v, v * num_nodes + u]).unique()
        ones = torch.ones(len(places), dtype=torch.float64)
        return cls(num_nodes, places // num_nodes, places % num_nodes, ones)

    @classmethod
    def of_graph(cls, graph: Graph) -> "Links":
        """Of a graph, or of a weight-balanced digraph."""
        _require_simple(graph)
        if not graph.is_directed():
            return cls.undirected(len(graph), *_ends(graph))
        weights = [a for _, _, a in graph.edges(data="weight", default=1)]
        links = cls.directed(len(graph), *_ends(graph), torch.tensor(weights, dtype=torch.float64))
        _require_balanced(graph, links)
        return links

    @classmethod
    def of_digraph(cls, graph: Graph) -> "Links":
        """Of any digraph; weights on its edges are not read."""
        _require_simple(graph)
        need, way_out = "a digraph", "make it one: graph.to_directed(), or use gs.from_graph"
        require(graph.is_directed(), "graph", graph, need, way_out)
        sender, receiver = _ends(graph)
        return cls.directed(len(graph), sender, receiver, torch.ones(len(sender)).double())

    @classmethod
    def directed(cls, num_nodes: int, sender: Tensor, receiver: Tensor, weight: Tensor) -> "Links":
        """Of the links sender → receiver in any order, self-loops left out."""
        order = torch.argsort(receiver * num_nodes + sender)
        order = order[receiver[order] != sender[order]]
        return cls(num_nodes, receiver[order], sender[order], weight[order])

    def graph(self) -> Graph:
        """The undirected networkx graph on the nodes 0, …, n − 1."""
        import networkx as nx  # takes longer than the rest of gossamer

        graph: Graph = nx.empty_graph(self.num_nodes)
        graph.add_edges_from(zip(self.receiver.tolist(), self.sender.tolist(), strict=True))
        return graph

    @cached_property
    def degree(self) -> Tensor:
        """d, what each node receives, (n,)."""
        return received(self.num_nodes, self.receiver, self.weight)

    @property
    def larger_degree(self) -> Tensor:
        """max(d_i, d_j) of each link, (links,)."""
        return torch.maximum(self.degree[self.receiver], self.degree[self.sender])


def _ends(graph: Graph) -> tuple[Tensor, Tensor]:
    """u and v of every edge, as numbers of nodes."""
    index = {label: i for i, label in enumerate(ordered_nodes(graph))}
    edges = [(index[u], index[v]) for u, v in graph.edges]
    u, v = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    return u, v


def ordered_nodes(graph: Graph) -> list[object]:
    """The labels sorted, or in order of insertion when they do not sort."""
    try:
        return sorted(graph.nodes)
    except TypeError:
        return list(graph.nodes)


def received(num_nodes: int, receiver: Tensor, weight: Tensor) -> Tensor:
    """What each node receives, (n,)."""
    return torch.zeros(num_nodes, dtype=torch.float64).index_add(0, receiver, weight)


def _require_simple(graph: Graph) -> None:
    require(len(graph) > 0, "graph", graph, "at least one node")
    require(
        not graph.is_multigraph(),
        "graph",
        graph,
        "at most one edge between two nodes",
        "convert it with nx.Graph(graph) or nx.DiGraph(graph)",
    )


def _require_balanced(graph: Graph, links: Links) -> None:
    """In-weight = out-weight at each node: what makes the columns of W sum to 1 as the rows do."""
    flow_in, flow_out = links.degree, received(links.num_nodes, links.sender, links.weight)
    off = ((flow_in - flow_out).abs() > ROUNDING * (1 + flow_in)).nonzero().flatten().tolist()
    if off:
        node = ordered_nodes(graph)[off[0]]
        require(
            False,
            "graph",
            f"node {node!r} with in-weight {flow_in[off[0]]:g} and out-weight {flow_out[off[0]]:g}",
            "a weight-balanced digraph (equal at every node)",
            'use gs.from_digraph(graph), or set the edge attribute "weight", or use '
            "graph.to_undirected()",
        )
