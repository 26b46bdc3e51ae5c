"""A description is enough to build a network again, and different networks have different names."""

import itertools
import json
from collections.abc import Callable
from functools import partial

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import networks as gs
from gossamer.errors import InvalidInput
from gossamer.networks.weights import RULES

PAIRS = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
OTHER_PAIRS = [[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0.5, 0, 0, 0.5]]


def half_lazy(graph: nx.Graph) -> torch.Tensor:
    return (gs.metropolis(graph) + torch.eye(len(graph))) / 2


def weighted_digraph() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 1.0), (1, 2, 1.0), (2, 0, 1.0)])
    return graph


FAMILIES: dict[str, Callable[[], gs.Network]] = {
    "ring": lambda: gs.ring(9, hops=3, weights="laplacian"),
    "exponential": lambda: gs.exponential(11, directed=False, weights="textbook"),
    "complete": lambda: gs.complete(7),
    "star": lambda: gs.star(6, weights=gs.lazy_metropolis),
    "line": lambda: gs.line(6, weights="max_degree"),
    "torus": lambda: gs.torus(3, 4),
    "hypercube": lambda: gs.hypercube(3),
    "erdos_renyi": lambda: gs.erdos_renyi(15, 0.3, seed=1),
    "random_regular": lambda: gs.random_regular(12, degree=3, seed=1),
    "one_peer_exponential": lambda: gs.one_peer_exponential(12),
    "random_digraph": lambda: gs.random_digraph(9, degree=3, seed=1),
    "random_matching": lambda: gs.random_matching(9),
    "erdos_renyi_each_round": lambda: gs.erdos_renyi_each_round(9, 0.3),
}

OTHER_WEIGHTS: dict[str, Callable[[], gs.Network]] = {
    "hypercube by another rule": lambda: gs.hypercube(3, weights="lazy_metropolis"),
    "erdos_renyi by another rule": lambda: gs.erdos_renyi(15, 0.3, seed=1, weights="laplacian"),
    "random_regular by another rule": lambda: gs.random_regular(
        12, degree=3, seed=1, weights="max_degree"
    ),
}

OWN: dict[str, Callable[[], gs.Network]] = {
    "graph": lambda: gs.from_graph(nx.random_regular_graph(4, 30, seed=3)),
    "graph by another rule": lambda: gs.from_graph(nx.barbell_graph(4, 2), "laplacian"),
    "graph of words": lambda: gs.from_graph(nx.Graph([("c", "b"), ("b", "a"), ("c", "d")])),
    "graph with a name": lambda: gs.from_graph(nx.wheel_graph(9), name="wheel(9)"),
    "graph with another's name": lambda: gs.from_graph(nx.wheel_graph(9), name="ring(9)"),
    "own weights": lambda: gs.ring(6, weights=half_lazy),
    "nameless weights": lambda: gs.from_graph(nx.wheel_graph(5), lambda g: half_lazy(g)),
    "digraph": lambda: gs.from_graph(weighted_digraph()),
    "one node": lambda: gs.from_graph(nx.empty_graph(1)),
    "matrix": lambda: gs.from_matrix([[0.7, 0.1, 0.2], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]),
    "matrix with a name": lambda: gs.from_matrix([[0.7, 0.3], [0.3, 0.7]], name="a pair"),
    "survivors": lambda: gs.erdos_renyi(8, 0.6, seed=0).without(3).without(0),
    "survivors of a matrix": lambda: gs.from_matrix(gs.complete(4).weights).without(1),
    "survivors with a name": lambda: gs.from_graph(nx.wheel_graph(9), name="wheel").without(2),
    "one-way links": lambda: gs.from_digraph([(0, 1), (1, 2), (2, 0), (0, 2)]),
    "modified": lambda: (
        gs.from_digraph([("a", "b"), ("b", "a")], name="pair")
        .every(4)
        .compressed(gs.TopK(0.1), gamma=0.2)
        .drops(0.1, burst=3)
    ),
    "accelerated": lambda: gs.ring(9).every(2).accelerated(3),
    "both ways": lambda: gs.ring(9).compressed(gs.Cast("bfloat16")).drops(0.1, both_ways=True),
    "rounds": lambda: gs.time_varying([gs.ring(8), gs.star(8), gs.one_peer_exponential(8)]),
    "rounds of matrices": lambda: gs.time_varying([PAIRS, OTHER_PAIRS, gs.ring(4)]),
    "rounds of own graphs": lambda: gs.time_varying(
        [gs.from_graph(nx.wheel_graph(6), name="wheel"), gs.ring(7).without(0)]
    ),
    "rounds with a name": lambda: gs.time_varying([PAIRS, OTHER_PAIRS], name="two pairs"),
}
NAMED = FAMILIES | OTHER_WEIGHTS
EVERY = NAMED | OWN


@pytest.mark.parametrize("made", EVERY.values(), ids=EVERY)
def test_a_description_builds_the_same_network(made: Callable[[], gs.Network]):
    network = made()
    again = gs.from_description(json.loads(json.dumps(network.describe())))
    assert again.name == network.name
    assert again.describe() == network.describe()
    assert again.period == network.period
    for mine, theirs in zip(network.rounds, again.rounds, strict=True):
        assert torch.equal(mine.weights, theirs.weights)


def test_every_family_is_there():
    assert set(FAMILIES) == set(gs.NETWORKS)


@pytest.mark.parametrize("made", NAMED.values(), ids=NAMED)
def test_the_name_of_a_family_is_all_it_takes(made: Callable[[], gs.Network]):
    network = made()
    assert network.describe() == {"name": network.name}
    assert eval(f"gs.{network.name}") == network


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "family",
    [
        partial(gs.hypercube, 3),
        partial(gs.erdos_renyi, 15, 0.3, seed=1),
        partial(gs.random_regular, 12, degree=3, seed=1),
    ],
    ids=["hypercube", "erdos_renyi", "random_regular"],
)
def test_a_family_has_the_weights_of_the_rule(family: Callable[..., gs.Network], rule: str):
    graph = nx.Graph(family().weights.nonzero().tolist())
    graph.remove_edges_from(nx.selfloop_edges(graph))
    assert torch.equal(family(weights=rule).weights, gs.from_graph(graph, rule).weights)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 9),
    extra=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12),
    rule=st.sampled_from(sorted(RULES)),
    shuffle=st.randoms(),
)
def test_any_graph_in_any_order_of_insertion_to_the_bit(n: int, extra, rule: str, shuffle):
    edges = [(i, i + 1) for i in range(n - 1)] + [(i % n, j % n) for i, j in extra]
    network = gs.from_graph(nx.Graph(edges), rule)
    shuffled = nx.empty_graph(shuffle.sample(range(n), n))
    shuffled.add_edges_from(shuffle.sample(edges, len(edges)))
    for other in (gs.from_graph(shuffled, rule), gs.from_description(network.describe())):
        assert other.name == network.name
        assert torch.equal(other.weights, network.weights)


def test_different_random_graphs_have_different_names():
    graphs = [nx.random_regular_graph(4, 30, seed=seed) for seed in range(20)]
    assert len({gs.from_graph(graph).name for graph in graphs}) == 20
    assert len({gs.erdos_renyi(12, 0.5, seed=seed).name for seed in range(20)}) == 20
    matrices = [gs.from_graph(graph).weights for graph in graphs]
    assert len({gs.from_matrix(matrix).name for matrix in matrices}) == 20
    assert gs.from_graph(graphs[0], "laplacian").name != gs.from_graph(graphs[0]).name


def test_equal_networks_made_twice_have_one_name():
    for made in EVERY.values():
        assert made().name == made().name
    W = gs.exponential(8).weights
    assert gs.from_matrix(W).name == gs.from_matrix(W.to_sparse_coo()).name


def test_names_of_all_are_different():
    networks = [made() for made in EVERY.values()]
    for one, other in itertools.combinations(networks, 2):
        assert one.name != other.name or one == other


def test_own_weights_are_described_by_their_numbers():
    described = gs.line(3, weights=lambda g: half_lazy(g)).describe()
    assert described["name"].startswith("from_matrix(matrix_")
    ((datum, facts),) = described["data"].items()
    assert datum in described["name"]
    assert facts["nodes"] == 3
    assert [0, 1, pytest.approx(1 / 6)] in facts["entries"]


def test_a_graph_is_described_by_its_edges():
    described = gs.from_graph(nx.Graph([("a", "b"), ("c", "b")]), "laplacian").describe()
    ((datum, facts),) = described["data"].items()
    assert described["name"] == f"from_graph({datum}, weights='laplacian')"
    assert facts == {"nodes": 3, "edges": [[0, 1], [1, 2]]}


def test_a_changed_graph_does_not_reach_the_description():
    graph = nx.cycle_graph(5)
    network = gs.from_graph(graph)
    before = network.describe()
    graph.add_edge(0, 2)
    assert network.describe() == before


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("ring(4)", "description: got 'ring\\(4\\)', need what network.describe"),
        ({}, "need what network.describe"),
        ({"name": "rnig(4)"}, "did you mean 'ring'"),
        ({"name": "__import__('os').system('true')"}, "network: got '__import__'"),
        ({"name": "ring(4).draw()"}, "method of ring\\(4\\): got 'draw', need one of without"),
        ({"name": "ring(4).__class__(1)"}, "got '__class__'"),
        ({"name": "one_peer_exponential(4).without(0)"}, "got 'without', need one of every"),
    ],
)
def test_what_cannot_be_built_is_refused(description, message: str):
    with pytest.raises(InvalidInput, match=message):
        gs.from_description(description)


@pytest.mark.parametrize("seed", [None, 1.5, "x", -1])
def test_a_seed_that_cannot_be_repeated_is_refused(seed):
    with pytest.raises(InvalidInput, match="seed: got"):
        gs.erdos_renyi(12, 0.5, seed=seed)
    with pytest.raises(InvalidInput, match="seed: got"):
        gs.random_regular(12, degree=3, seed=seed)
