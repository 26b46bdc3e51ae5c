"""Networks of one-way links that nobody balanced."""

import time

import networkx as nx
import pytest
import torch
from networks.digraphs import perron_digraph

import gossamer as gs
from gossamer.networks import from_digraph


def perron(matrix: torch.Tensor) -> torch.Tensor:
    """The positive eigenvector of eigenvalue 1, summing to 1."""
    values, vectors = torch.linalg.eig(matrix)
    vector = vectors[:, (values - 1).abs().argmin()].real
    return vector / vector.sum()


def test_receivers_weigh_alike_and_senders_split_evenly():
    graph = perron_digraph(10)
    network = gs.from_digraph(graph)
    R, C = network.weights, network.push_weights
    assert not network.balanced
    for i in range(10):
        assert network.in_neighbors(i) == sorted(graph.predecessors(i))
        assert network.out_neighbors(i) == sorted(graph.successors(i))
        assert R[i, i] == 1 / (1 + graph.in_degree(i))
        assert C[i, i] == 1 / (1 + graph.out_degree(i))
    torch.testing.assert_close(R.sum(1), torch.ones(10).double(), rtol=0, atol=1e-15)
    torch.testing.assert_close(C.sum(0), torch.ones(10).double(), rtol=0, atol=1e-15)


def test_the_digraph_of_the_tests_treats_its_nodes_unequally():
    network = gs.from_digraph(perron_digraph(10))
    heard, kept = perron(network.weights.T), perron(network.push_weights)
    assert heard.max() / heard.min() > 100
    assert kept.max() / kept.min() > 100


def test_a_regular_digraph_is_balanced():
    cycle = nx.DiGraph([(i, (i + 1) % 5) for i in range(5)])
    network = gs.from_digraph(cycle)
    assert network.balanced
    assert network == gs.from_matrix(network.weights)
    assert 0 < network.lam < 1


def test_pairs_are_a_digraph():
    pairs = [(0, 1), (1, 2), (2, 0), (0, 2)]
    assert gs.from_digraph(pairs) == gs.from_digraph(nx.DiGraph(pairs))


def test_there_is_no_lambda_without_balance():
    with pytest.raises(gs.InvalidInput, match="its weights are not doubly stochastic"):
        _ = gs.from_digraph(perron_digraph(10)).lam


@pytest.mark.parametrize("seed", range(5))
def test_a_random_digraph_is_strongly_connected(seed: int):
    network = gs.random_digraph(15, degree=3, seed=seed)
    edges = [(j, i) for i in range(15) for j in network.in_neighbors(i)]
    assert nx.is_strongly_connected(nx.DiGraph(edges))
    assert (network.out_degrees == 3).all()
    assert gs.random_digraph(15, degree=3, seed=seed).name == network.name


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: from_digraph([(0, 1), (1, 2)]), "node 0 cannot hear from node 1"),
        (lambda: from_digraph([(1, 0), (2, 1), (0, 1)]), "node 0 cannot reach node 2"),
        (lambda: from_digraph([(0, 1, 2)]), r"need a networkx DiGraph or pairs"),
        (lambda: from_digraph(torch.eye(9).numpy()), r"graph: got a ndarray, need a networkx"),
        (lambda: gs.random_digraph(4, degree=4), r"degree: got 4, need less than n = 4"),
    ],
)
def test_refusals(made, message: str):
    with pytest.raises(gs.InvalidInput, match=message):
        made()


def test_a_long_way_round_is_walked_once():
    """Time grows with the links, not with their number times the length of the way."""

    def seconds(n: int) -> float:
        edges = [(node, (node + 1) % n) for node in range(n)]
        start = time.process_time()
        gs.from_digraph([*edges, (0, 5)])
        return time.process_time() - start

    short, long = (min(seconds(n) for _ in range(3)) for n in (2_000, 16_000))
    assert long < 25 * short  # 8 times as many; 64 if each step looked at all
