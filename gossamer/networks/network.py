"""Networks: who hears whom in each round, with which weight."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from gossamer.errors import InvalidInput, require
from gossamer.networks.contraction import graph_components, merged_classes
from gossamer.networks.mixer import Mixer
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import SparseMatrix
from gossamer.networks.spectrum import consensus_norm, period_product

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPARSE_FROM = 256
"""Fewest nodes for which a mixer multiplies sparse."""
SPARSE_DENSITY = 1 / 16
"""Largest share of non-zeros for which it does."""


class Network(ABC):
    """n nodes that mix, z ← W_t z, with doubly stochastic matrices W_t repeated periodically.

    Row i of W_t lists whom node i receives from: w_ir > 0 exactly when r sends to i in round t.
    A static network is the case of period 1. `==` compares the matrices of all rounds, up to
    rounding.

    Attributes:
        recipe: how it is built.
    """

    recipe: Recipe
    modifiers: ClassVar[tuple[str, ...]] = ()
    """Methods that make another network and may stand in its name."""

    @property
    def name(self) -> str:
        """Python that builds it, e.g. "ring(20, hops=2)", or the name that its maker gave it."""
        return self.recipe.name

    def describe(self) -> dict[str, Any]:
        """Enough to build it again by `from_description`, as plain JSON.

        >>> from gossamer.networks import from_matrix, ring
        >>> ring(20, hops=2).describe()
        {'name': 'ring(20, hops=2)'}
        >>> from_matrix([[0.75, 0.25], [0.25, 0.75]], name="pair").describe()["data"]
        {'matrix_...': {'nodes': 2, 'entries': [[0, 0, 0.75], [0, 1, 0.25], ...]}}
        """
        return self.recipe.describe()

    @property
    @abstractmethod
    def rounds(self) -> "tuple[StaticNetwork, ...]":
        """The networks of rounds 0, …, period − 1."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, n."""
        return self.rounds[0].matrix.size

    @property
    def period(self) -> int:
        """Number of rounds, τ, after which the matrices repeat; 1 for a static network."""
        return len(self.rounds)

    def at(self, t: int) -> "StaticNetwork":
        """The network of round t."""
        return self.rounds[t % self.period]

    @property
    def weights(self) -> Tensor:
        """W_{τ−1} … W_0 of one period (W itself when static), a new dense (n, n) float64 tensor."""
        return period_product([network.matrix for network in self.rounds])

    @cached_property
    def lam(self) -> float:
        """λ = ‖W_{τ−1} … W_0 − 11ᵀ/n‖₂^{1/τ}, which is ‖W − 11ᵀ/n‖₂ when static.

        The share of the disagreement that a round leaves, on average over a period.
        """
        norm = consensus_norm([network.matrix for network in self.rounds])
        return norm ** (1 / self.period)

    @property
    def spectral_gap(self) -> float:
        """1 − λ."""
        return 1 - self.lam

    def mixing_time(self, eps: float = 1e-3) -> int:
        """Rounds until disagreement is at most `eps` of what it was: the first k with λᵏ ≤ eps.

        In whole periods. Exact when W is static and symmetric, as then ‖Wᵏ − 11ᵀ/n‖₂ = λᵏ; an
        upper bound otherwise.
        """
        require(0 < eps < 1, "eps", eps, "a number in (0, 1)")
        if self.lam == 0:
            return self.period
        periods = math.log(eps) / (self.period * math.log(self.lam))
        return self.period * math.ceil(periods - 1e-9)

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw every link of a period on `ax` (a new figure if None), with arrows if directed."""
        from gossamer.networks.drawing import draw

        return draw(self, ax)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self.period == other.period and all(
            mine.matrix.equals(theirs.matrix)
            for mine, theirs in zip(self.rounds, other.rounds, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, tuple(r.matrix.values.numel() for r in self.rounds)))

    def __repr__(self) -> str:
        degrees = torch.cat([network.in_degrees for network in self.rounds])
        least, most = int(degrees.min()), int(degrees.max())
        degree = f"degree {least}" if least == most else f"degrees {least} to {most}"
        period = f"period {self.period}, " if self.period > 1 else ""
        nodes = f"{self.num_nodes} node" + ("s" if self.num_nodes > 1 else "")
        return f"{self.name}: {nodes}, {period}{degree}, λ = {self.lam:.6g}"


@dataclass(frozen=True, eq=False, repr=False)
class StaticNetwork(Network):
    """A network with the same mixing matrix W in every round; built by `ring`, `from_graph`, …

    Args:
        matrix: W, non-negative and doubly stochastic.
        recipe: how it is built.
    """

    matrix: SparseMatrix
    recipe: Recipe
    modifiers: ClassVar[tuple[str, ...]] = ("without",)

    @property
    def rounds(self) -> "tuple[StaticNetwork, ...]":
        """The network itself."""
        return (self,)

    @cached_property
    def in_degrees(self) -> Tensor:
        """How many others each node receives from, (n,)."""
        loops = torch.bincount(
            self.matrix.row[self.matrix.row == self.matrix.col], minlength=self.num_nodes
        )
        return self.matrix.crow.diff() - loops

    @cached_property
    def symmetric(self) -> bool:
        """Whether W = Wᵀ."""
        return self.matrix.equals(self.matrix.transposed)

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

    def mixer(
        self, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> Mixer:
        """z ↦ W z over the leading axis of (n, ...), with both verbs; kept per dtype and device.

        One dense product; one sparse product from 256 nodes on when at most 1/16 of W is non-zero.
        (Measured on 2 CPU cores: from there they tie on the widest tensors, and the sparse product
        is up to 40 times faster at 1,024 nodes.)
        """
        key = (dtype, device)
        if key not in self._mixers:
            self._mixers[key] = self._build_mixer(dtype, device)
        return self._mixers[key]

    def _build_mixer(self, dtype: torch.dtype, device: torch.device | str) -> Mixer:
        weights = self._weights_in(dtype, device)
        exact = weights if dtype == torch.float64 else self._weights_in(torch.float64, device)
        return Mixer(weights, exact)

    def _weights_in(self, dtype: torch.dtype, device: torch.device | str) -> Tensor:
        n = self.num_nodes
        few = n >= SPARSE_FROM and self.matrix.values.numel() <= SPARSE_DENSITY * n * n
        sparse = few and dtype in (torch.float32, torch.float64)  # all that torch multiplies sparse
        return self.matrix.csr(dtype, device) if sparse else self.weights.to(device, dtype)

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
        return {"matrix": self.matrix, "recipe": self.recipe}


def _absorb(matrix: SparseMatrix, node: int) -> SparseMatrix:
    """Delete row and column k = `node`, each w_ik moving to w_ii."""
    row, col, values = (
        entries[matrix.row != node] for entries in (matrix.row, matrix.col, matrix.values)
    )
    col = torch.where(col == node, row, col)
    row, col = (index - (index > node).long() for index in (row, col))
    return SparseMatrix.from_entries(matrix.size - 1, row, col, values)


def require_contraction(network: Network) -> None:
    """Refuse a network with λ = 1: on it, disagreement would never vanish."""
    matrices = [r.matrix for r in network.rounds]
    classes = merged_classes(matrices).unique()
    if len(classes) == 1:
        return
    parts = graph_components(matrices).unique()
    if len(parts) > 1:
        raise InvalidInput(
            f"{network.name}: the graph falls into {len(parts)} parts (nodes {parts[0]} and "
            f"{parts[1]} are not connected), need a connected graph; add edges between the parts"
        )
    raise InvalidInput(
        f"{network.name}: the graph is connected but λ = 1 (a period of {network.period} averages "
        f"nothing across nodes {classes[0]} and {classes[1]}, so disagreement can keep its norm), "
        "need λ < 1; give every node a weight on itself, e.g. by (W + I) / 2 with the identity I"
    )
