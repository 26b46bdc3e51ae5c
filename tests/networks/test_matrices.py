import networkx as nx
import numpy as np
import pytest
import torch

from gossamer import networks as gs
from gossamer.errors import InvalidInput

PRIMITIVE_WITH_LAMBDA_ONE = [[0, 1, 0], [0.5, 0, 0.5], [0.5, 0, 0.5]]


@pytest.mark.parametrize(
    "convert",
    [
        lambda W: W,
        lambda W: W.numpy(),
        lambda W: W.tolist(),
        lambda W: W.to_sparse_coo(),
    ],
)
def test_takes_tensors_arrays_lists_and_sparse_tensors(convert):
    W = gs.exponential(8).weights
    network = gs.from_matrix(convert(W), name="mine")
    assert torch.equal(network.weights, W)
    assert network.name == "mine"
    assert network == gs.exponential(8)


def test_the_matrix_of_a_scheme_makes_a_network():
    graph = nx.petersen_graph()
    assert gs.from_matrix(gs.metropolis(graph)) == gs.from_graph(graph)


@pytest.mark.parametrize("rule", gs.weights.FUNCTIONS)
def test_the_way_out_works_on_the_matrix_of_every_rule(rule):
    """λ = 1 is answered with (W + I) / 2, which must work on what our own functions return."""
    graph = nx.petersen_graph()
    lazy = gs.from_matrix((rule(graph) + torch.eye(10)) / 2)
    assert torch.equal(lazy.weights, (gs.from_graph(graph, rule).weights + torch.eye(10)) / 2)
    with pytest.raises(InvalidInput, match=r"e.g. by \(W \+ I\) / 2 with the identity I"):
        gs.from_matrix([[0, 1], [1, 0]])


def test_a_later_change_of_the_matrix_does_not_reach_the_network():
    W = gs.ring(4).weights
    network = gs.from_matrix(W)
    W.zero_()
    assert network == gs.ring(4)


def test_primitive_is_not_enough():
    W = np.array(PRIMITIVE_WITH_LAMBDA_ONE)
    assert (np.linalg.matrix_power(W, 4) > 0).all()
    assert np.linalg.norm(W - 1 / 3, ord=2) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="the graph is connected but λ = 1"):
        gs.from_matrix(W)
    assert gs.from_matrix((W + np.eye(3)) / 2).lam < 1  # the way out that the message names


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]], "falls into 2 parts .nodes 0 and 2"),
        ([[0, 1], [1, 0]], "connected but λ = 1"),
        ([[1.5, -0.5], [-0.5, 1.5]], "a negative weight -0.5"),
        ([[0.5, 0.4], [0.4, 0.5]], r"row sums in \[0.9, 0.9\], need 1; .* gs.metropolis\(graph\)"),
        ([[0.5, 0.5], [0.6, 0.4]], r"column sums in \[0.9, 1.1\], need 1"),
        ([[0.5, 0.5, 0], [0.5, 0.5, 0]], r"shape \(2, 3\), need a square matrix"),
        ([1.0], r"shape \(1,\), need a square matrix"),
        (np.zeros((0, 0)), r"shape \(0, 0\)"),
        ([[0.0, 0.0], [0.0, 0.0]], r"row sums in \[0, 0\]"),
        ([[0.5, np.nan], [0.5, 0.5]], "NaN or infinite"),
        ([[0.5, np.inf], [0.5, 0.5]], "NaN or infinite"),
        (torch.full((2, 2), 0.500001), "torch.float32 entries: compute them in float64"),
    ],
)
def test_refusals(weights, message: str):
    with pytest.raises(InvalidInput, match=message):
        gs.from_matrix(weights)
