import math
import random
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch

from gossamer import networks as gs
from gossamer.errors import InvalidInput

# Every λ of the paper, and of the table in which its weights were established.
LAMBDAS = [
    (lambda: gs.ring(20), 0.967371),
    (lambda: gs.ring(8), 0.804738),
    (lambda: gs.ring(20, hops=2), 0.904029),
    (lambda: gs.ring(8, hops=2), 0.482843),
    (lambda: gs.exponential(20), 0.714286),
    (lambda: gs.exponential(8), 0.6),
    (lambda: gs.exponential(20, directed=False), 0.6),
    (lambda: gs.exponential(20, weights="textbook"), 0.666667),
    (lambda: gs.exponential(20, directed=False, weights="textbook"), 0.555556),
    (lambda: gs.exponential(8, weights="textbook"), 0.5),
    (lambda: gs.complete(20), 0.0),
    (lambda: gs.complete(8), 0.0),
    (lambda: gs.ring(20, weights="laplacian"), 0.995106),
    (lambda: gs.ring(8, weights="laplacian"), 0.926777),
]

FAMILIES = [
    lambda: gs.ring(9, hops=3),
    lambda: gs.exponential(11),
    lambda: gs.exponential(16, directed=False),
    lambda: gs.complete(7),
    lambda: gs.star(6),
    lambda: gs.line(6),
    lambda: gs.torus(3, 4),
    lambda: gs.hypercube(3),
    lambda: gs.erdos_renyi(15, 0.3, seed=1),
    lambda: gs.random_regular(12, degree=3, seed=1),
]


@pytest.mark.parametrize(("build", "lam"), LAMBDAS)
def test_lambda_of_the_table(build: Callable[[], gs.StaticNetwork], lam: float):
    network = build()
    by_svd = torch.linalg.matrix_norm(network.weights - 1 / network.num_nodes, ord=2)
    assert network.lam == pytest.approx(lam, abs=1e-6)
    assert network.lam == pytest.approx(float(by_svd), abs=1e-12)


@pytest.mark.parametrize("build", FAMILIES)
def test_families_are_doubly_stochastic_and_named_after_their_call(
    build: Callable[[], gs.StaticNetwork],
):
    network = build()
    W = network.weights
    assert (W >= 0).all()
    torch.testing.assert_close(W.sum(0), torch.ones_like(W[0]), rtol=0, atol=1e-12)
    torch.testing.assert_close(W.sum(1), torch.ones_like(W[0]), rtol=0, atol=1e-12)
    assert eval(f"gs.{network.name}") == network


@pytest.mark.parametrize("family", [gs.ring, gs.exponential, gs.complete, gs.one_peer_exponential])
def test_one_node_keeps_what_it_has(family: Callable[[int], gs.Network]):
    assert family(1).at(3).weights.tolist() == [[1.0]]


def test_the_paper_exponential_counts_the_self_loop():
    assert gs.exponential(20).neighbor_weights(16) == pytest.approx(
        {0: 1 / 7, 8: 1 / 7, 12: 1 / 7, 14: 1 / 7, 15: 1 / 7, 16: 2 / 7}
    )
    assert gs.exponential(20, directed=False).neighbor_weights(0) == pytest.approx(
        {0: 1 / 5, **dict.fromkeys([1, 2, 4, 8, 12, 16, 18, 19], 1 / 10)}
    )


@pytest.mark.parametrize(
    ("network", "degrees"),
    [
        (gs.star(5), [4, 1, 1, 1, 1]),
        (gs.line(4), [1, 2, 2, 1]),
        (gs.torus(3, 4), [4] * 12),
        (gs.torus(2, 3), [3] * 6),
        (gs.hypercube(4), [4] * 16),
        (gs.ring(6, hops=3), [5] * 6),
        (gs.random_regular(10, degree=3, seed=0), [3] * 10),
        (gs.exponential(16, directed=False), [7] * 16),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_degrees(network: gs.StaticNetwork, degrees: list[int]):
    assert [len(network.in_neighbors(i)) for i in range(network.num_nodes)] == degrees


def test_torus_numbers_nodes_row_by_row():
    assert gs.torus(3, 4).in_neighbors(5) == [1, 4, 6, 9]


def test_small_members_of_a_family_coincide():
    assert gs.ring(2) == gs.complete(2)
    assert gs.ring(3) == gs.complete(3)
    assert gs.ring(8, hops=4) == gs.complete(8)
    assert gs.torus(1, 5) == gs.ring(5)
    assert gs.hypercube(1) == gs.ring(2)


@pytest.mark.parametrize(
    "network",
    [
        gs.ring(1),
        gs.exponential(1),
        gs.complete(1),
        gs.star(1),
        gs.line(1),
        gs.torus(1, 1),
        gs.hypercube(0),
        gs.erdos_renyi(1, 0.5),
        gs.random_regular(1, degree=0),
        gs.from_matrix([[1.0]]),
        gs.from_graph(nx.empty_graph(1)),
        gs.one_peer_exponential(1),
        *[gs.ring(1, weights=w) for w in ("lazy_metropolis", "laplacian", "max_degree")],
    ],
    ids=lambda network: network.name,
)
def test_one_node_is_the_centralized_method(network: gs.Network):
    assert network.weights.tolist() == [[1.0]]
    assert network.lam == 0
    assert network.mixing_time() == 1
    assert network.at(0).in_neighbors(0) == []


def test_random_graphs_depend_on_the_seed_only():
    assert gs.erdos_renyi(20, 0.3, seed=3) == gs.erdos_renyi(20, 0.3, seed=3)
    assert gs.erdos_renyi(20, 0.3, seed=3) != gs.erdos_renyi(20, 0.3, seed=4)
    assert gs.random_regular(20, degree=3, seed=3) == gs.random_regular(20, degree=3, seed=3)
    assert gs.random_regular(20, degree=3, seed=3) != gs.random_regular(20, degree=3, seed=4)


def test_a_disconnected_draw_is_drawn_again():
    first_draw = nx.fast_gnp_random_graph(12, 0.2, seed=random.Random(0))
    assert not nx.is_connected(first_draw)
    assert gs.erdos_renyi(12, 0.2, seed=0).lam < 1


def test_numpy_integers_are_integers():
    assert gs.ring(np.int64(5)) == gs.ring(5)


def test_from_graph_sorts_labels_and_takes_unsortable_ones_as_inserted():
    path = nx.Graph([("c", "b"), ("b", "a")])
    assert gs.from_graph(path) == gs.line(3)
    mixed = nx.Graph([(0, "b"), ("b", (1, 2))])
    assert gs.from_graph(mixed) == gs.line(3)


def test_from_graph_of_a_digraph_reads_who_sends_to_whom():
    network = gs.from_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0)]))
    assert network.in_neighbors(1) == [0]
    assert network.out_neighbors(1) == [2]
    assert network.lam == pytest.approx(0.5)


def test_from_graph_honours_the_weights_of_a_digraph():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 1.0), (1, 2, 1.0), (2, 0, 1.0)])
    expected = torch.tensor([[1, 1, 1], [2, 1, 0], [0, 1, 2]], dtype=torch.float64) / 3
    torch.testing.assert_close(gs.from_graph(graph).weights, expected, rtol=0, atol=1e-15)


def test_from_graph_rebuilds_the_directed_exponential_network():
    offsets = (1, 2, 4)
    graph = nx.DiGraph([(i, (i + s) % 8) for i in range(8) for s in offsets])
    assert gs.from_graph(graph) == gs.exponential(8, weights="textbook")


def test_weights_may_be_a_function():
    assert gs.ring(6, weights=gs.laplacian) == gs.ring(6, weights="laplacian")
    identity_heavy = gs.line(4, weights=lambda graph: (gs.metropolis(graph) + torch.eye(4)) / 2)
    torch.testing.assert_close(identity_heavy.weights, (gs.line(4).weights + torch.eye(4)) / 2)


UNBALANCED = nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)])
REFUSALS = [
    (lambda: gs.ring(0), "n: got 0, need an integer of at least 1"),
    (lambda: gs.complete(-1), "n: got -1"),
    (lambda: gs.ring(2.5), "n: got 2.5, need an integer"),  # type: ignore[arg-type]
    (lambda: gs.star("8"), "n: got 8, need an integer"),  # type: ignore[arg-type]
    (lambda: gs.ring(20, hops=11), r"hops: got 11, need at most n // 2 = 10; .*complete\(20\)"),
    (lambda: gs.ring(20, hops=0), "hops: got 0"),
    (lambda: gs.ring(20, weights="metroplis"), "did you mean 'metropolis'"),
    (lambda: gs.exponential(20, weights="textbok"), "did you mean 'textbook'"),
    (lambda: gs.exponential(8, directed="false"), "directed: got 'false', need True or False"),  # type: ignore[arg-type]
    (lambda: gs.erdos_renyi(10, 0), "probability: got 0"),
    (lambda: gs.erdos_renyi(10, math.nan), "probability: got nan"),
    (lambda: gs.erdos_renyi(50, 0.001), "none of 100 random graphs .*raise probability"),
    (lambda: gs.random_regular(5, degree=5), "degree: got 5, need less than n = 5"),
    (lambda: gs.random_regular(5, degree=3), "degree: got 3, need an even n"),
    (lambda: gs.random_regular(10, degree=1), "none of 100 random graphs was connected"),
    (lambda: gs.from_graph(nx.Graph()), "at least one node"),
    (lambda: gs.from_graph(nx.Graph([(0, 1), (2, 3)])), "2 parts .nodes 0 and 2 are not"),
    (lambda: gs.from_graph(nx.MultiGraph([(0, 1)])), r"nx.Graph\(graph\)"),
    (lambda: gs.from_graph(UNBALANCED), "node 0 with in-weight 1 and out-weight 2"),
    (lambda: gs.from_graph(UNBALANCED), r"use gs.from_digraph\(graph\), or set the edge"),
    (lambda: gs.from_graph(torch.eye(2)), "graph: got a Tensor, need a networkx graph"),  # type: ignore[arg-type]
    (lambda: gs.from_graph(nx.DiGraph([("a", "b")])), "node 'a' with in-weight 0 and out-weight 1"),
    (lambda: gs.from_graph(nx.DiGraph([(0, 1), (1, 0)]), "metropolis"), 'use weights="max_degree"'),
]


@pytest.mark.parametrize(("build", "message"), REFUSALS)
def test_refusals_say_what_is_wrong(build: Callable[[], gs.Network], message: str):
    with pytest.raises(InvalidInput, match=message):
        build()
