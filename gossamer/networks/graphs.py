"""Networks from graphs: any networkx graph, and the named families."""

import random
from collections.abc import Callable
from typing import SupportsIndex

import torch

from gossamer.errors import InvalidInput, choice, require, whole
from gossamer.interval import SHARE, within
from gossamer.networks.contraction import connected_components
from gossamer.networks.links import Graph, Links
from gossamer.networks.matrices import contracting, doubly_stochastic, from_matrix
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import coo
from gossamer.networks.static import StaticNetwork
from gossamer.networks.weights import (
    Weighting,
    is_own,
    links_for,
    mixing_matrix,
    rule_of,
)

ATTEMPTS = 100
"""How many random graphs are drawn in search of a connected one."""

MOST_NODES, MOST_WEIGHTS = 10**6, 2**26
"""Of a named family: what is built within seconds and some gigabytes."""


def from_graph(
    graph: Graph, weights: str | Weighting | None = None, *, name: str | None = None
) -> StaticNetwork:
    """The network of a connected networkx graph: undirected, or a weight-balanced digraph.

    Args:
        graph: the graph. Node i is its i-th label in sorted order, or in order of insertion if
            labels cannot be sorted. An edge u → v of a digraph means that u sends to v; its weight
            is the edge attribute "weight" (1 if absent). Every node of a digraph must receive as
            much weight as it sends. Of an undirected graph, attributes of the edges are not read:
            W follows from the degrees.
        weights: "metropolis" (default on undirected graphs), "lazy_metropolis", "laplacian",
            "max_degree" (default on digraphs), or a function that takes the graph and returns W.
        name: name of the network in results; by default made of a fingerprint of the graph.

    >>> import networkx as nx
    >>> from_graph(nx.petersen_graph())
    from_graph(graph_...): 10 nodes, degree 3, λ = 0.5

    To use the edge attribute "weight" of an undirected graph, compute W from it:

    >>> graph = nx.Graph()
    >>> graph.add_weighted_edges_from([(0, 1, 0.3), (1, 2, 0.3), (2, 0, 0.1)])
    >>> def own_weights(graph):
    ...     laplacian = nx.laplacian_matrix(graph, nodelist=sorted(graph)).todense()
    ...     return torch.eye(len(graph), dtype=torch.float64) - torch.tensor(laplacian)
    >>> from_graph(graph, own_weights).weights
    tensor([[0.6000, 0.3000, 0.1000],
            [0.3000, 0.4000, 0.3000],
            [0.1000, 0.3000, 0.6000]], dtype=torch.float64)
    """
    need, way_out = "a networkx graph", "gs.from_matrix takes weights, gs.from_digraph edges"
    require(hasattr(graph, "is_directed"), "graph", f"a {type(graph).__name__}", need, way_out)
    weights = weights or ("max_degree" if graph.is_directed() else "metropolis")
    if is_own(weights):
        return from_matrix(weights(graph), name=name)
    rule = rule_of(weights)
    matrix = doubly_stochastic(mixing_matrix(links_for(graph, rule), rule))
    if graph.is_directed():
        return contracting(matrix, Recipe.of_matrix(matrix, name))
    return contracting(matrix, Recipe.of_graph(matrix, rule, name))


def ring(
    n: SupportsIndex, hops: SupportsIndex = 1, weights: str | Weighting = "metropolis"
) -> StaticNetwork:
    """Node i talks to i ± 1, …, i ± hops (mod n), by default with weights 1/(2 hops + 1).

    Args:
        n: number of nodes. A single node gives the centralized method.
        hops: how many nodes a node talks to on each side; n // 2, the most, gives the complete
            network.
        weights: see `from_graph`.

    >>> ring(20, hops=2)
    ring(20, hops=2): 20 nodes, degree 4, λ = 0.904029
    >>> ring(20, weights="laplacian").lam
    0.99510...
    """
    n, hops = whole("n", n, 1), whole("hops", hops, 1)
    most = max(1, n // 2)
    require(hops <= most, "hops", hops, f"at most n // 2 = {most}", f"use complete({n})")
    require_size(n, 2 * hops)
    node, shift = torch.arange(n).repeat(hops), torch.arange(1, hops + 1).repeat_interleave(n)
    parameters = f"{n}" + (f", hops={hops}" if hops > 1 else "")
    return _named("ring", parameters, Links.undirected(n, node, (node + shift) % n), weights)


def exponential(n: SupportsIndex, directed: bool = True, weights: str = "paper") -> StaticNetwork:
    """Node i sends to i + 2ᵏ (mod n): few links, and yet 1 − λ shrinks only like 1/log n.

    With one-way links, node i sends to i + 2ᵏ for all 2ᵏ < n, i.e. to ⌈log₂ n⌉ nodes. With two-way
    links, it talks to i ± 2ᵏ for all 2ᵏ ≤ n/2.

    Args:
        n: number of nodes.
        directed: True for one-way links, False for two-way links.
        weights: "paper" sets w_ij = 1/(2 + d) and w_ii = 2/(2 + d) for d neighbours. These are
            Metropolis weights if the self-loop counts as a neighbour, and they give the λ printed
            in the GT-NSGDm paper. "textbook" sets w_ij = w_ii = 1/(1 + d).

    >>> exponential(20)
    exponential(20): 20 nodes, degree 5, λ = 0.714286
    >>> exponential(20, directed=False).lam
    0.6...
    >>> exponential(20, weights="textbook").lam
    0.66666...
    """
    n = whole("n", n, 1)
    choice("weights", weights, ("paper", "textbook"))
    require(directed in (True, False), "directed", repr(directed), "True or False")
    powers = [2**k for k in range(n.bit_length()) if 2**k < n and (directed or 2 ** (k + 1) <= n)]
    offsets = {s % n for power in powers for s in ([power] if directed else [power, -power])}
    require_size(n, len(offsets))
    kept = 2 if weights == "paper" else 1
    weight = 1 / (kept + len(offsets))
    name = f"exponential({n}" + ("" if directed else ", directed=False")
    name += ("" if weights == "paper" else f", weights={weights!r}") + ")"
    matrix = circulant(n, {0: kept * weight, **dict.fromkeys(offsets, weight)})
    return contracting(doubly_stochastic(matrix), Recipe(name))


def complete(n: SupportsIndex) -> StaticNetwork:
    """Every node hears every other: W = 11ᵀ/n and λ = 0, so that one round averages exactly.

    >>> complete(8)
    complete(8): 8 nodes, degree 7, λ = 0
    """
    n = whole("n", n, 1)
    require_size(n, n - 1)
    matrix = torch.full((n, n), 1 / n, dtype=torch.float64)
    return contracting(doubly_stochastic(matrix), Recipe(f"complete({n})"))


def star(n: SupportsIndex, weights: str | Weighting = "metropolis") -> StaticNetwork:
    """Node 0 talks to all other nodes, and they talk only to node 0.

    >>> star(8)
    star(8): 8 nodes, degrees 1 to 7, λ = 0.875
    """
    n = whole("n", n, 1)
    require_size(n, 2)
    leaf = torch.arange(1, n)
    return _named("star", f"{n}", Links.undirected(n, torch.zeros_like(leaf), leaf), weights)


def line(n: SupportsIndex, weights: str | Weighting = "metropolis") -> StaticNetwork:
    """A ring that is cut open: node i talks to i − 1 and i + 1, the two ends to one node each.

    >>> line(8)
    line(8): 8 nodes, degrees 1 to 2, λ = 0.949253
    """
    n = whole("n", n, 1)
    require_size(n, 2)
    node = torch.arange(n - 1)
    return _named("line", f"{n}", Links.undirected(n, node, node + 1), weights)


def torus(
    rows: SupportsIndex, cols: SupportsIndex, weights: str | Weighting = "metropolis"
) -> StaticNetwork:
    """A grid with opposite borders joined: each node talks to those above, below, left and right.

    The node in row r and column c has the number r · cols + c.

    >>> torus(4, 5)
    torus(4, 5): 20 nodes, degree 4, λ = 0.723607
    """
    rows, cols = whole("rows", rows, 1), whole("cols", cols, 1)
    require_size(rows * cols, 4)
    node = torch.arange(rows * cols).view(rows, cols)
    neighbour = torch.stack([node.roll(-1, 0), node.roll(-1, 1)])  # below, right
    links = Links.undirected(rows * cols, node.expand(2, -1, -1).flatten(), neighbour.flatten())
    return _named("torus", f"{rows}, {cols}", links, weights)


def hypercube(dimension: SupportsIndex, weights: str | Weighting = "metropolis") -> StaticNetwork:
    """2^dimension nodes; each talks to those whose binary number differs from its own in one bit.

    >>> hypercube(3)
    hypercube(3): 8 nodes, degree 3, λ = 0.5
    """
    dimension = whole("dimension", dimension, 0)
    require_size(2 ** min(dimension, 64), dimension)
    node = torch.arange(n := 2**dimension).repeat(dimension)
    bit = torch.arange(dimension).repeat_interleave(n)
    links = Links.undirected(n, node, node ^ (1 << bit))
    return _named("hypercube", f"{dimension}", links, weights)


def erdos_renyi(
    n: SupportsIndex,
    probability: float,
    seed: SupportsIndex = 0,
    weights: str | Weighting = "metropolis",
) -> StaticNetwork:
    """Every pair of nodes is linked with the given probability, independently of all other pairs.

    The graph is redrawn until it is connected, at most 100 times.

    >>> erdos_renyi(20, 0.3, seed=0)
    erdos_renyi(20, 0.3, seed=0): 20 nodes, degrees ...
    """
    n, seed = whole("n", n, 1), whole("seed", seed, 0)
    within("probability", probability, SHARE)
    require_size(n, probability * n)
    import networkx as nx

    links = _first_connected(
        lambda draws: nx.fast_gnp_random_graph(n, probability, seed=draws),
        seed,
        f"erdos_renyi({n}, {probability})",
        "raise probability above ln(n)/n",
    )
    return _named("erdos_renyi", f"{n}, {probability}, seed={seed}", links, weights)


def random_regular(
    n: SupportsIndex,
    *,
    degree: SupportsIndex,
    seed: SupportsIndex = 0,
    weights: str | Weighting = "metropolis",
) -> StaticNetwork:
    """Every node talks to `degree` others, chosen at random.

    The graph is redrawn until it is connected, at most 100 times.

    >>> random_regular(20, degree=4, seed=0)
    random_regular(20, degree=4, seed=0): 20 nodes, degree 4, λ = ...
    """
    n, degree, seed = whole("n", n, 1), whole("degree", degree, 0), whole("seed", seed, 0)
    require(degree < n, "degree", degree, f"less than n = {n}", f"use complete({n})")
    require(n * degree % 2 == 0, "degree", degree, f"an even n · degree (n = {n} is odd)")
    require_size(n, degree)
    import networkx as nx

    links = _first_connected(
        lambda draws: nx.random_regular_graph(degree, n, seed=draws),
        seed,
        f"random_regular({n}, degree={degree})",
        "raise degree to at least 3",
    )
    return _named("random_regular", f"{n}, degree={degree}, seed={seed}", links, weights)


def require_size(num_nodes: int, degree: float) -> None:
    """Refuse a network that would take minutes and all memory to build.

    >>> require_size(10**7, degree=2)
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: network: got 10,000,000 nodes that each hear 2, need at most
    1,000,000 nodes and 67,108,864 weights, all of which are kept in memory; build a smaller one
    """
    small = num_nodes <= MOST_NODES and num_nodes * (degree + 1) <= MOST_WEIGHTS
    found = f"{num_nodes:,} nodes that each hear {degree:,.0f}"
    most = f"at most {MOST_NODES:,} nodes and {MOST_WEIGHTS:,} weights, all of which are kept"
    require(small, "network", found, f"{most} in memory", "build a smaller one")


def circulant(n: int, weights: dict[int, float]) -> torch.Tensor:
    """The sparse (n, n) matrix by which node i receives from i − s with weight `weights[s]`."""
    node = torch.arange(n).repeat(len(weights))
    shift = torch.tensor(list(weights)).repeat_interleave(n)
    values = torch.tensor(list(weights.values()), dtype=torch.float64).repeat_interleave(n)
    return coo(n, node, (node - shift) % n, values)


def _named(family: str, parameters: str, links: Links, weights: str | Weighting) -> StaticNetwork:
    """The network of some links, named after its call; with own weights, by their matrix."""
    if is_own(weights):
        return from_matrix(weights(links.graph()))
    rule = rule_of(weights)
    suffix = "" if rule == "metropolis" else f", weights={rule!r}"
    matrix = doubly_stochastic(mixing_matrix(links, rule))
    return contracting(matrix, Recipe(f"{family}({parameters}{suffix})"))


def _first_connected(
    sample: Callable[[random.Random], Graph], seed: int, name: str, way_out: str
) -> Links:
    """The first connected graph of the random sequence that `seed` starts."""
    draws = random.Random(seed)
    for _ in range(ATTEMPTS):
        links = Links.of_graph(sample(draws))
        parts = connected_components(links.num_nodes, links.receiver, links.sender)
        if bool((parts == 0).all()):
            return links
    raise InvalidInput(
        f"{name}: none of {ATTEMPTS} random graphs was connected, need a connected graph; {way_out}"
    )
