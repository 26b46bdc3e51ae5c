"""Does a sequence of mixing matrices contract disagreement? Decided exactly, without numerics.

For a doubly stochastic W, ‖W z‖ = ‖z‖ if and only if z is constant on the support of each row
(Jensen's inequality, row by row). Call i and j *merged* when some row lists both: then λ < 1 if and
only if all nodes are merged into one class. Over several rounds, a node passes on the class of what
it received.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.networks.sparse import SparseMatrix


def connected_components(num_nodes: int, u: Tensor, v: Tensor) -> Tensor:
    """The smallest node of each node's component in the graph with edges u—v, (num_nodes,).

    >>> connected_components(5, torch.tensor([1, 4]), torch.tensor([3, 1])).tolist()
    [0, 1, 2, 1, 1]
    """
    root = torch.arange(num_nodes)
    while True:
        low, high = torch.minimum(root[u], root[v]), torch.maximum(root[u], root[v])
        if torch.equal(low, high):
            return root
        root.scatter_reduce_(0, high, low, "amin")  # hook each root under a smaller neighbour
        while not torch.equal(root, root[root]):
            root = root[root]


def graph_components(rounds: Sequence[SparseMatrix]) -> Tensor:
    """Components of the graph of all links of all rounds, directions ignored, (n,)."""
    row, col = (torch.cat([getattr(W, index) for W in rounds]) for index in ("row", "col"))
    return connected_components(rounds[0].size, row, col)


def merged_classes(rounds: Sequence[SparseMatrix]) -> Tensor:
    """Class of each node's value under W_{τ−1} … W_0, (n,), as the smallest node of the class.

    There is one class if and only if ‖W_{τ−1} … W_0 − 11ᵀ/n‖₂ < 1.

    The primitive matrix whose λ is 1, and its square:

    >>> W = torch.tensor([[0, 1, 0], [0.5, 0, 0.5], [0.5, 0, 0.5]])
    >>> merged_classes([SparseMatrix.from_tensor(W)]).tolist()
    [0, 1, 0]
    >>> merged_classes([SparseMatrix.from_tensor(W)] * 2).tolist()
    [0, 0, 0]
    """
    n = rounds[0].size
    held = torch.arange(n)  # held[k]: a starting node in the class of what k holds now
    u = v = torch.empty(0, dtype=torch.int64)
    for matrix in rounds:
        first = held[matrix.col[matrix.crow[:-1]]]
        u = torch.cat([u, first[matrix.row]])
        v = torch.cat([v, held[matrix.col]])
        held = first
    return connected_components(n, u, v)
