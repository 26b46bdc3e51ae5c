"""Minibatches of a node's shard, resumable to the very next batch."""

from typing import Any

from torch import Tensor

from gossamer.data import BatchOrder
from gossamer.errors import require


class MinibatchSampler:
    """An endless iterator of batches of sample indices, from one node's share of a data set.

    The share is a contiguous part of the samples. The batches are those of `BatchOrder` and depend
    on `seed`, the node and the step only. So the state of the iterator is one number, `position`,
    which counts the batches drawn.

    Args:
        num_samples: number of samples in the data set.
        batch_size: samples per batch.
        num_nodes: number of nodes that share the data set.
        node: the node whose share it is.
        seed: seed of the random order.

    >>> import torch
    >>> sampler = MinibatchSampler(num_samples=8, batch_size=2, num_nodes=2, node=1, seed=0)
    >>> sorted(torch.cat([next(sampler), next(sampler)]).tolist())
    [4, 5, 6, 7]
    >>> sampler.state_dict()
    {'position': 2}
    """

    def __init__(
        self, num_samples: int, batch_size: int, num_nodes: int, node: int, seed: int = 0
    ) -> None:
        require(0 <= node < num_nodes, "node", node, f"an integer in [0, {num_nodes - 1}]")
        self._first = num_samples * node // num_nodes
        count = num_samples * (node + 1) // num_nodes - self._first
        self._order = BatchOrder(count, batch_size, seed, node)
        self.position = 0

    def __iter__(self) -> "MinibatchSampler":
        return self

    def __next__(self) -> Tensor:
        self.position += 1
        return self._first + self._order.at(self.position - 1)

    def state_dict(self) -> dict[str, Any]:
        """The number of batches drawn so far."""
        return {"position": self.position}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue after as many batches as had been drawn when the state was saved."""
        self.position = state_dict["position"]
