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
        matrix: W, non-negative and doubly stochastic; of an unbalanced network R, whose rows sum
            to 1.
        recipe: how it is built.
        split: C of an unbalanced network, whose columns sum to 1: how senders split totals. It has
            the links of R. None where W does both.
    """

    matrix: SparseMatrix
    recipe: Recipe
    split: SparseMatrix | None = None
    modifiers: ClassVar[tuple[str, ...]] = ("without", *Network.modifiers)

    @property
    def rounds(self) -> "tuple[StaticNetwork, ...]":
        """The network itself."""
        return (self,)

    @property
    def balanced(self) -> bool:
        """Whether opinions and totals are mixed with one matrix W."""
        return self.split is None

    @property
    def push_matrix(self) -> SparseMatrix:
        """C, what totals are mixed with."""
        return self.matrix if self.split is None else self.split

    @property
    def push_weights(self) -> Tensor:
        """C as a new dense (n, n) float64 tensor."""
        return self.push_matrix.dense()

    @cached_property
    def in_degrees(self) -> Tensor:
        """How many others each node receives from, (n,)."""
        loops = torch.bincount(
            self.matrix.row[self.matrix.row == self.matrix.col], minlength=self.num_nodes
        )
        return self.matrix.crow.diff() - loops

    @cached_property
    def out_degrees(self) -> Tensor:
        """How many others each node sends to, (n,)."""
        sent = self.matrix.col[self.matrix.row != self.matrix.col]
        return torch.bincount(sent, minlength=self.num_nodes)

    @cached_property
    def symmetric(self) -> bool:
        """Whether W = Wᵀ."""
        return self.balanced and self.matrix.equals(self.matrix.transposed)

    def same_weights(self, other: "StaticNetwork") -> bool:
        """Whether both mix alike, up to rounding."""
        push = self.push_matrix.equals(other.push_matrix)
        return push and self.matrix.equals(other.matrix)

    def in_neighbors(self, node: int) -> list[int]:
        """Whom `node` receives from, sorted, without itself."""
        self._require_node(node)
        return [r for r in self.matrix.entries_of(node) if r != node]

    def out_neighbors(self, node: int) -> list[int]:
        """Whom `node` sends to, sorted, without itself."""
        self._require_node(node)
        return [i for i in self.matrix.transposed.entries_of(node) if i != node]

    def neighbor_weights(self, node: int) -> dict[int, float]:
        """The non-zero w_ir of row i = `node`, itself included, sorted by r."""
        self._require_node(node)
        return self.matrix.entries_of(node)

    def neighbor_shares(self, node: int) -> dict[int, float]:
        """The non-zero c_ir of row i = `node`: the share of r's total that it sends to `node`."""
        self._require_node(node)
        return self.push_matrix.entries_of(node)

    def mixer(
        self, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> Mixer:
        """z ↦ R z and z ↦ C z over the leading axis of (n, ...); kept per dtype and device.

        One dense product; one sparse product from 256 nodes on when at most 1/16 of W is non-zero.
        (Measured on 2 CPU cores: from there they tie on the widest tensors, and the sparse product
        is up to 40 times faster at 1,024 nodes.)
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
        """The survivors' network after `node` = k died, renumbered: w_ii ← w_ii + w_ik.

        No survivor needs a message for it, and W stays doubly stochastic because it is symmetric.
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
