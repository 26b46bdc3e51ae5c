"""Networks of one-way links that nobody balanced."""

import random
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import torch
from torch import Tensor

from gossamer.errors import InvalidInput, require, whole
from gossamer.networks.graphs import require_size
from gossamer.networks.links import Graph, Links
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import SparseMatrix
from gossamer.networks.static import StaticNetwork


def from_digraph(
    graph: "Graph | Iterable[tuple[int, int]]", *, name: str | None = None
) -> StaticNetwork:
    """The network of any strongly connected digraph: a node may hear many others and send to few.

    A receiver gives equal weights to its own opinion and to all that it hears. A sender splits its
    total into equal shares, one of which it keeps:

        r_ij = 1/(1 + indegree of i),   c_ij = 1/(1 + outdegree of j).

    So a node needs to know only its own degrees. The rows of R and the columns of C sum to 1. The
    network is balanced, R = C, if all degrees are equal.

    Args:
        graph: a networkx DiGraph, or a list of its edges; (u, v) means that u sends to v. Node i is
            the i-th label in sorted order, or in order of insertion if labels cannot be sorted.
        name: name of the network in results; by default made of a fingerprint of the graph.

    >>> from_digraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    from_digraph(digraph_...): 3 nodes, degrees 1 to 2, no λ, since its weights are not doubly ...

    Reference: Pu, Shi, Xu and Nedić, "Push–pull gradient methods", 2020; Xin and Khan, "AB", 2018.
    """
    links = Links.of_digraph(_digraph(graph))
    _require_strong(links, name or "from_digraph")
    pattern = _with_loops(links)
    return _split_evenly(pattern, Recipe.of_digraph(pattern, name))


def random_digraph(
    n: SupportsIndex, *, degree: SupportsIndex, seed: SupportsIndex = 0
) -> StaticNetwork:
    """Each node sends to the next one and to `degree` − 1 random others.

    The weights are those of `from_digraph`. In general some nodes hear many others and some only
    one, so that the network is not balanced.

    >>> random_digraph(20, degree=3, seed=0)
    random_digraph(20, degree=3, seed=0): 20 nodes, each hears 1 to 6 and sends to 3, no λ, ...
    """
    n, degree, seed = whole("n", n, 2), whole("degree", degree, 1), whole("seed", seed, 0)
    require(degree < n, "degree", degree, f"less than n = {n}", f"use complete({n})")
    require_size(n, degree)
    draws = random.Random(seed)
    steps = [[1, *draws.sample(range(2, n), degree - 1)] for _ in range(n)]
    edges = [(node, (node + step) % n) for node in range(n) for step in steps[node]]
    sender, receiver = torch.tensor(edges).T
    links = Links.directed(n, sender, receiver, torch.ones(len(edges)).double())
    return _split_evenly(_with_loops(links), Recipe(f"random_digraph({n}, {degree=}, {seed=})"))


def _digraph(graph: "Graph | Iterable[tuple[int, int]]") -> Graph:
    """A networkx graph as it is; a list of edges as a digraph."""
    import networkx as nx

    if isinstance(graph, nx.Graph):
        return graph
    edges = list(graph) if isinstance(graph, Iterable) else []
    pairs = all(isinstance(edge, Sequence) and len(edge) == 2 for edge in edges)
    need = "a networkx DiGraph or pairs (sender, receiver)"
    way_out = "e.g. [(0, 1), (1, 0)], or networkx.DiGraph(matrix) of an adjacency matrix"
    shown = repr(graph) if len(repr(graph)) < 80 else f"a {type(graph).__name__}"
    require(pairs and len(edges) > 0, "graph", shown, need, way_out)
    return nx.DiGraph(edges)


def _with_loops(links: Links) -> SparseMatrix:
    """1 on every link and on the diagonal."""
    nodes = torch.arange(links.num_nodes)
    row, col = torch.cat([links.receiver, nodes]), torch.cat([links.sender, nodes])
    return SparseMatrix.from_entries(links.num_nodes, row, col, torch.ones(len(row)))


def _split_evenly(pattern: SparseMatrix, recipe: Recipe) -> StaticNetwork:
    """R and C of a digraph."""
    heard, told = pattern.row_sums(), pattern.transposed.row_sums()
    pulls, pushes = (
        SparseMatrix(pattern.size, pattern.crow, pattern.col, 1 / degree)
        for degree in (heard[pattern.row], told[pattern.col])
    )
    return StaticNetwork(pulls, recipe, None if pulls.equals(pushes) else pushes)


def _require_strong(links: Links, name: str) -> None:
    """Refuse a digraph in which some node cannot reach another."""
    ways = {
        "reach": (links.sender, links.receiver),
        "hear from": (links.receiver, links.sender),
    }
    for verb, (begin, end) in ways.items():
        missed = (~_reached_from_0(links.num_nodes, begin, end)).nonzero().flatten().tolist()
        if missed:
            raise InvalidInput(
                f"{name}: node 0 cannot {verb} node {missed[0]} along the links, need a strongly "
                "connected digraph (a way from every node to every other); add links"
            )


def _reached_from_0(num_nodes: int, begin: Tensor, end: Tensor) -> Tensor:
    """Which nodes a walk from node 0 can come to, `(num_nodes,)`; every link is tried once."""
    onward: list[list[int]] = [[] for _ in range(num_nodes)]
    for here, there in zip(begin.tolist(), end.tolist(), strict=True):
        onward[here].append(there)
    reached, waiting = {0}, [0]
    while waiting:
        new = [node for node in onward[waiting.pop()] if node not in reached]
        reached.update(new)
        waiting += new
    return torch.tensor([node in reached for node in range(num_nodes)])
