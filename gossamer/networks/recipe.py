"""How a network is built: an expression in Python, and the data behind its free names."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from gossamer.networks.links import Links
from gossamer.networks.sparse import ROUNDING, SparseMatrix, coo

if TYPE_CHECKING:
    import networkx as nx


Kind = Literal["graph", "digraph", "matrix"]


@dataclass(frozen=True, eq=False)
class Datum:
    """A matrix, or the graph of its links, under a name that is its fingerprint.

    Args:
        matrix: W.
        kind: "matrix", or "graph" (undirected) or "digraph" where a rule gives the weights.
    """

    matrix: SparseMatrix
    kind: Kind

    @property
    def name(self) -> str:
        """Equal for equal data, e.g. "graph_3f2a91c0" or "matrix_91c0aa5e"."""
        row, col, values = self._entries()
        facts = [torch.tensor([self.matrix.size]), row, col]
        facts += [(values / ROUNDING).round().long()] if self.kind == "matrix" else []
        digest = hashlib.sha256(torch.cat(facts).numpy().tobytes()).hexdigest()[:8]
        return f"{self.kind}_{digest}"

    def describe(self) -> dict[str, Any]:
        """As plain JSON: edges [i, r], arcs [sender, receiver] or entries [i, r, w_ir]."""
        row, col, values = (entries.tolist() for entries in self._entries())
        listed = {
            "graph": ("edges", zip(row, col, strict=True)),
            "digraph": ("arcs", zip(col, row, strict=True)),
            "matrix": ("entries", zip(row, col, values, strict=True)),
        }
        name, entries = listed[self.kind]
        return {"nodes": self.matrix.size, name: list(map(list, entries))}

    def _entries(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row, column and value: all of a matrix, of a graph what names each link once."""
        row, col, values = self.matrix.row, self.matrix.col, self.matrix.values
        places = {"graph": row < col, "digraph": row != col, "matrix": row >= 0}
        kept = places[self.kind]
        return row[kept], col[kept], values[kept]


def read_datum(facts: Mapping[str, Any]) -> "nx.Graph[int] | Tensor":
    """The graph or sparse matrix that `Datum.describe` described."""
    if "edges" in facts:
        u, v = torch.tensor(facts["edges"], dtype=torch.int64).reshape(-1, 2).T
        return Links.undirected(facts["nodes"], u, v).graph()
    if "arcs" in facts:
        import networkx as nx

        digraph: nx.DiGraph[int] = nx.DiGraph(map(tuple, facts["arcs"]))
        digraph.add_nodes_from(range(facts["nodes"]))
        return digraph
    row, col, values = zip(*facts["entries"], strict=True)
    return coo(
        facts["nodes"],
        torch.tensor(row),
        torch.tensor(col),
        torch.tensor(values, dtype=torch.float64),
    )


@dataclass(frozen=True)
class Recipe:
    """How a network is built, and what it is called.

    Args:
        expression: Python, e.g. "ring(20, hops=2)", "from_graph(graph_3f2a91c0)".
        data: what the free names of the expression stand for.
        label: what people call it, if not by its expression.
    """

    expression: str
    data: Mapping[str, Datum] = field(default_factory=dict)
    label: str | None = None

    @classmethod
    def of_matrix(cls, matrix: SparseMatrix, label: str | None = None) -> "Recipe":
        """Of a network that is known by its weights alone."""
        datum = Datum(matrix, "matrix")
        return cls(f"from_matrix({datum.name})", {datum.name: datum}, label)

    @classmethod
    def of_graph(cls, matrix: SparseMatrix, rule: str, label: str | None = None) -> "Recipe":
        """Of a network whose weights a rule gives to an undirected graph."""
        datum = Datum(matrix, "graph")
        weights = "" if rule == "metropolis" else f", weights={rule!r}"
        return cls(f"from_graph({datum.name}{weights})", {datum.name: datum}, label)

    @classmethod
    def of_digraph(cls, matrix: SparseMatrix, label: str | None = None) -> "Recipe":
        """Of a network whose weights follow from the links of a digraph."""
        datum = Datum(matrix, "digraph")
        return cls(f"from_digraph({datum.name})", {datum.name: datum}, label)

    @property
    def name(self) -> str:
        """The label, or the expression itself."""
        return self.label or self.expression

    def then(self, call: str) -> "Recipe":
        """The recipe of what a method makes of the network, e.g. `call` = "without(3)"."""
        label = None if self.label is None else f"{self.label}.{call}"
        return replace(self, expression=f"{self.expression}.{call}", label=label)

    def describe(self) -> dict[str, Any]:
        """As plain JSON: the name, the expression if that is another, the data if there are any."""
        described: dict[str, Any] = {"name": self.name}
        if self.label is not None:
            described["expression"] = self.expression
        if self.data:
            described["data"] = {name: datum.describe() for name, datum in self.data.items()}
        return described
