"""Networks of one-way links that nobody balanced."""

import torch

from gossamer.errors import InvalidInput
from gossamer.networks.links import Graph, Links
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import SparseMatrix
from gossamer.networks.static import StaticNetwork


def from_digraph(graph: Graph, *, name: str | None = None) -> StaticNetwork:
    """The network of any strongly connected digraph: some nodes may hear many, and tell few.

    A receiver weighs all it hears alike, a sender splits a total into equal parts,

        r_ij = 1/(1 + indegree of i),   c_ij = 1/(1 + outdegree of j),

    which needs nothing but one's own degrees. The rows of R and the columns of C sum to 1. Where
    R = C, on regular digraphs, the network is balanced.

    Args:
        graph: a networkx DiGraph; an edge u → v means that u sends to v. Node i is the i-th label
            in sorted order (of insertion, if labels do not sort).
        name: what the network is called in results; by default a fingerprint of the graph.

    >>> import networkx as nx
    >>> from_digraph(nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)]))
    from_digraph(digraph_...): 3 nodes, degrees 1 to 2, no λ, since its R and C are not doubly ...

    Reference: Pu, Shi, Xu and Nedić, "Push–pull gradient methods", 2020; Xin and Khan, "AB", 2018.
    """
    links = Links.of_digraph(graph)
    _require_strong(links, name)
    nodes, ones = torch.arange(links.num_nodes), torch.ones(links.num_nodes)
    row, col = torch.cat([links.receiver, nodes]), torch.cat([links.sender, nodes])
    linked = torch.cat([torch.ones(len(links.sender)), ones]).double()
    pattern = SparseMatrix.from_entries(links.num_nodes, row, col, linked)
    heard, told = pattern.row_sums(), pattern.transposed.row_sums()
    pulls, pushes = (
        SparseMatrix(pattern.size, pattern.crow, pattern.col, 1 / degree)
        for degree in (heard[pattern.row], told[pattern.col])
    )
    recipe = Recipe.of_digraph(pattern, name)
    return StaticNetwork(pulls, recipe, None if pulls.equals(pushes) else pushes)


def _require_strong(links: Links, name: str | None) -> None:
    """Refuse a digraph in which some node cannot reach another."""
    n = links.num_nodes
    for ends, verb in (
        ((links.sender, links.receiver), "reach"),
        ((links.receiver, links.sender), "hear"),
    ):
        reached = torch.zeros(n, dtype=torch.bool)
        reached[0] = True
        for _ in range(n):
            before = int(reached.sum())
            reached[ends[1][reached[ends[0]]]] = True
            if int(reached.sum()) == before:
                break
        if not bool(reached.all()):
            lost = int((~reached).nonzero()[0])
            raise InvalidInput(
                f"{name or 'from_digraph'}: node 0 cannot {verb} node {lost} along the links, need "
                "a strongly connected digraph (a way from every node to every other); add links"
            )
