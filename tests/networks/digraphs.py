"""Directed graphs that treat their nodes unequally, for tests of methods and networks."""

from dataclasses import dataclass

import networkx as nx
import torch
from torch import Tensor


def perron_digraph(n: int) -> nx.DiGraph:
    """A chain of n ≥ 4 nodes that also send three and seven places back; strongly connected.

    For n = 10 the Perron weights of the nodes, left of R and right of C, differ 161-fold.
    """
    edges = [(i, i + step) for i in range(n) for step in (1, -3, -7)]
    return nx.DiGraph([(sender, hearer) for sender, hearer in edges if 0 <= hearer < n])


@dataclass(frozen=True)
class PullAndPush:
    """The `mix` of a directed graph: equal shares of what is heard, R, and of what is sent, C."""

    R: Tensor
    C: Tensor

    @classmethod
    def of(cls, graph: nx.DiGraph) -> "PullAndPush":
        nodes = sorted(graph)
        sent = torch.from_numpy(nx.to_numpy_array(graph, nodes)) + torch.eye(len(nodes))
        return cls(sent.T / sent.sum(0)[:, None], sent.T / sent.sum(1))

    def pull(self, z: Tensor) -> Tensor:
        return torch.tensordot(self.R, z, 1)

    def push(self, z: Tensor) -> Tensor:
        return torch.tensordot(self.C, z, 1)
