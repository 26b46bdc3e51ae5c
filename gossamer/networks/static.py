"""Networks that are the same in every round."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.networks.mixer import Mixer
from gossamer.networks.network import Network
from gossamer.networks.periodic import Periodic, require_contraction
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import SparseMatrix

SPARSE_FROM = 256
"""Fewest nodes for which a mixer multiplies sparse."""
SPARSE_DENSITY = 1 / 16
"""Largest share of non-zeros for which it does."""


@dataclass(frozen=True, eq=False, repr=False)
class StaticNetwork(Periodic):
    """A network with the same weights in every round; built by `ring`, `from_digraph`, …

    Args:
        matrix: W, non-negative and doubly stochastic; or R, whose rows sum to 1, if the network is
            not balanced.
        recipe: how the network is built.
        split: C, the shares into which senders split totals, if the network is not balanced. Its
            columns sum to 1, and it has the same links as R. None if W is both R and C.
    """

    matrix: SparseMatrix
    recipe: Recipe
    split: SparseMatrix | None = None
    modifiers: ClassVar[tuple[str, ...]] = ("without", *Network.modifiers)

    @property
    def rounds(self) -> "tuple[StaticNetwork, ...]":
        """The network itself, as its only round."""
        return (self,)

    @property
    def balanced(self) -> bool:
        """Whether opinions and totals are mixed with the same matrix W."""
        return self.split is None

    @property
    def push_matrix(self) -> SparseMatrix:
        """C, the matrix that mixes totals."""
        return self.matrix if self.split is None else self.split

    @property
    def push_weights(self) -> Tensor:
        """C as a new dense (n, n) float64 tensor."""
        return self.push_matrix.dense()

    @cached_property
    def in_degrees(self) -> Tensor:
        """The number of other nodes from which each node receives, (n,)."""
        loops = torch.bincount(
            self.matrix.row[self.matrix.row == self.matrix.col], minlength=self.num_nodes
        )
        return self.matrix.crow.diff() - loops

    @cached_property
    def out_degrees(self) -> Tensor:
        """The number of other nodes to which each node sends, (n,)."""
        sent = self.matrix.col[self.matrix.row != self.matrix.col]
        return torch.bincount(sent, minlength=self.num_nodes)

    @cached_property
    def symmetric(self) -> bool:
        """Whether W = Wᵀ."""
        return self.balanced and self.matrix.equals(self.matrix.transposed)

    def same_weights(self, other: "StaticNetwork") -> bool:
        """Whether both networks have the same weights, up to rounding."""
        push = self.push_matrix.equals(other.push_matrix)
        return push and self.matrix.equals(other.matrix)

    def in_neighbors(self, node: int) -> list[int]:
        """The other nodes from which `node` receives, sorted."""
        self._require_node(node)
        return [r for r in self.matrix.entries_of(node) if r != node]

    def out_neighbors(self, node: int) -> list[int]:
        """The other nodes to which `node` sends, sorted."""
        self._require_node(node)
        return [i for i in self.matrix.transposed.entries_of(node) if i != node]

    def neighbor_weights(self, node: int) -> dict[int, float]:
        """{r: w_ir} for all r, i itself included, to which i = `node` gives a weight w_ir > 0."""
        self._require_node(node)
        return self.matrix.entries_of(node)

    def neighbor_shares(self, node: int) -> dict[int, float]:
        """{r: c_ir} for all r, i itself included, that send a share c_ir > 0 to i = `node`."""
        self._require_node(node)
        return self.push_matrix.entries_of(node)

    def mixer(
        self, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> Mixer:
        """The maps z ↦ R z and z ↦ C z for z of shape (n, …); built once per dtype and device.

        They are dense products, or sparse ones if there are at least 256 nodes and at most 1/16 of
        the weights is non-zero. (Measured on 2 CPU cores: at 256 nodes both are equally fast on the
        widest tensors; at 1,024 nodes the sparse product is up to 40 times faster.)
        """
        key = (dtype, device)
        if key not in self._mixers:
            self._mixers[key] = self._build_mixer(dtype, device)
        return self._mixers[key]

    def _build_mixer(self, dtype: torch.dtype, device: torch.device | str) -> Mixer:
        pulls = self._in(self.matrix, dtype, device)
        pushes = pulls if self.balanced else self._in(self.push_matrix, dtype, device)
        if dtype == torch.float64:
            return Mixer(pulls, pushes, pushes)
        return Mixer(pulls, pushes, self._in(self.push_matrix, torch.float64, device))

    def _in(self, matrix: SparseMatrix, dtype: torch.dtype, device: torch.device | str) -> Tensor:
        sparse = multiplied_sparse(self.num_nodes, matrix.values.numel(), dtype)
        return matrix.csr(dtype, device) if sparse else matrix.dense().to(device, dtype)

    @cached_property
    def _mixers(self) -> dict[tuple[torch.dtype, torch.device | str], Mixer]:
        return {}

    def without(self, node: int) -> "StaticNetwork":
        """The network that is left when node k = `node` dies, renumbered, with w_ii ← w_ii + w_ik.

        No survivor needs a message for this. W must be symmetric, so that it stays doubly
        stochastic; any other network is refused.
        """
        self._require_node(node)
        require(self.num_nodes > 1, "node", node, "a network of at least 2 nodes")
        require(
            self.symmetric,
            "node",
            node,
            f"W = Wᵀ, else the survivors' columns do not sum to 1 ({self.name} is not symmetric)",
            "build the survivors' network anew, e.g. with gs.ring(n - 1)",
        )
        recipe = self.recipe.then(f"without({node})")
        survivors = StaticNetwork(_absorb(self.matrix, node), recipe)
        require_contraction(survivors)
        return survivors

    def _require_node(self, node: int) -> None:
        require(0 <= node < self.num_nodes, "node", node, f"0, …, {self.num_nodes - 1}")

    def __getstate__(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "recipe": self.recipe, "split": self.split}


def multiplied_sparse(num_nodes: int, nonzeros: int, dtype: torch.dtype) -> bool:
    """Whether a product with such a matrix is faster sparse."""
    few = num_nodes >= SPARSE_FROM and nonzeros <= SPARSE_DENSITY * num_nodes**2
    return few and dtype in (torch.float32, torch.float64)  # all that torch multiplies sparse


def _absorb(matrix: SparseMatrix, node: int) -> SparseMatrix:
    """Delete row and column k = `node`, each w_ik moving to w_ii."""
    row, col, values = (
        entries[matrix.row != node] for entries in (matrix.row, matrix.col, matrix.values)
    )
    col = torch.where(col == node, row, col)
    row, col = (index - (index > node).long() for index in (row, col))
    return SparseMatrix.from_entries(matrix.size - 1, row, col, values)
