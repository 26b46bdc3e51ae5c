import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer import networks as gs
from gossamer.networks.weights import RULES

NAMES = sorted(RULES)


@st.composite
def connected_graphs(draw) -> nx.Graph:
    """A random tree plus random edges: every connected graph can come up."""
    n = draw(st.integers(1, 12))
    parents = [draw(st.integers(0, child - 1)) for child in range(1, n)]
    graph = nx.empty_graph(n)
    graph.add_edges_from(zip(range(1, n), parents, strict=True))
    node = st.integers(0, n - 1)
    graph.add_edges_from(draw(st.lists(st.tuples(node, node), max_size=20)))
    return graph


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(graph=connected_graphs(), seed=st.integers(0, 99))
def test_every_scheme_on_every_connected_graph(name: str, graph: nx.Graph, seed: int):
    network = gs.from_graph(graph, name)
    n, W, lam = network.num_nodes, network.weights, network.lam
    assert (W >= 0).all()
    assert (W.sum(0) - 1).abs().max() < 1e-12
    assert torch.equal(W > 0, W.T > 0)
    by_svd = float(torch.linalg.matrix_norm(W - 1 / n, ord=2))
    assert lam == pytest.approx(by_svd, abs=1e-12)
    assert lam < 1 - 1e-6

    z = torch.randn(n, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    mixed, mean = network.mixer().pull(z), z.mean(0)
    assert (mixed.mean(0) - mean).abs().max() < 1e-12
    assert (mixed - mean).norm() <= lam * (z - mean).norm() + 1e-12


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(graph=connected_graphs(), data=st.data())
def test_relabelling_permutes_the_weights(name: str, graph: nx.Graph, data: st.DataObject):
    order = data.draw(st.permutations(range(len(graph))))
    network = gs.from_graph(graph, name)
    relabelled = gs.from_graph(nx.relabel_nodes(graph, dict(enumerate(order))), name)
    permuted = relabelled.weights[order][:, order]
    torch.testing.assert_close(permuted, network.weights, rtol=0, atol=1e-12)
    assert relabelled.lam == pytest.approx(network.lam, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 9), cycles=st.lists(st.tuples(st.randoms(), st.floats(0.1, 3)), max_size=3))
def test_weight_balanced_digraphs_are_doubly_stochastic(n: int, cycles):
    """Every weight-balanced digraph is a sum of weighted cycles."""
    graph = nx.DiGraph()
    _add_cycle(graph, list(range(n)), 1.0)
    for order, weight in cycles:
        _add_cycle(graph, order.sample(range(n), order.randint(2, n)), weight)
    W = gs.from_graph(graph).weights
    assert (W.sum(0) - 1).abs().max() < 1e-12
    assert (W.sum(1) - 1).abs().max() < 1e-12
    assert set(graph.edges) == {(r, i) for i, r in W.nonzero().tolist() if i != r}


def _add_cycle(graph: nx.DiGraph, nodes: list[int], weight: float) -> None:
    for u, v in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        already = graph.get_edge_data(u, v, {"weight": 0.0})["weight"]
        graph.add_edge(u, v, weight=already + weight)


def test_schemes_by_their_formulas():
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    degree = dict(graph.degree)
    for name, on_edge in {
        "metropolis": lambda i, j: 1 / (1 + max(degree[i], degree[j])),
        "lazy_metropolis": lambda i, j: 1 / (2 * max(degree[i], degree[j])),
        "laplacian": lambda i, j: 1 / 4,
        "max_degree": lambda i, j: 1 / (1 + 3),
    }.items():
        W = getattr(gs, name)(graph)
        for i, j in graph.edges:
            assert W[i, j] == W[j, i] == pytest.approx(on_edge(i, j))
        assert W[0, 3] == 0


@pytest.mark.parametrize("name", NAMES)
def test_self_loops_change_nothing(name: str):
    graph = nx.path_graph(4)
    looped = nx.Graph([*graph.edges, (1, 1), (3, 3)])
    assert gs.from_graph(looped, name) == gs.from_graph(graph, name)


def test_lazy_weights_have_no_negative_eigenvalue():
    eigenvalues = torch.linalg.eigvalsh(gs.ring(8, weights="lazy_metropolis").weights)
    assert eigenvalues.min() > -1e-12
    assert torch.linalg.eigvalsh(gs.ring(8).weights).min() < -0.3
