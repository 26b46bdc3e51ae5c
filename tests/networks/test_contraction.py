import networkx as nx
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.networks.contraction import connected_components, merged_classes
from gossamer.networks.sparse import SparseMatrix


@settings(max_examples=60, deadline=None)
@given(edges=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=14))
def test_components_are_those_of_networkx(edges):
    graph = nx.empty_graph(12)
    graph.add_edges_from(edges)
    expected = {node: min(part) for part in nx.connected_components(graph) for node in part}
    u, v = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    assert connected_components(12, u, v).tolist() == [expected[i] for i in range(12)]


def test_components_of_a_long_shuffled_path():
    order = torch.randperm(5000, generator=torch.Generator().manual_seed(0))
    assert connected_components(5000, order[:-1], order[1:]).unique().tolist() == [0]


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(1, 5),
    rounds=st.lists(st.lists(st.randoms(), min_size=1, max_size=3), min_size=1, max_size=3),
)
def test_one_class_exactly_when_the_product_contracts(n: int, rounds):
    """Random doubly stochastic matrices as means of permutations (Birkhoff), often with λ = 1."""
    matrices = [torch.stack([_permutation(n, r) for r in mean]).mean(0) for mean in rounds]
    product = torch.eye(n, dtype=torch.float64)
    for W in matrices:
        product = W @ product
    contracts = float(torch.linalg.matrix_norm(product - 1 / n, ord=2)) < 1 - 1e-9
    classes = merged_classes([SparseMatrix.from_tensor(W) for W in matrices]).unique()
    assert (len(classes) == 1) == contracts


def _permutation(n: int, random) -> torch.Tensor:
    order = list(range(n))
    random.shuffle(order)
    return torch.eye(n, dtype=torch.float64)[order]
