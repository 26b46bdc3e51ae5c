"""Minibatches of a node's shard, resumable to the very next batch."""

from typing import Any

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.seeding import stream


class MinibatchSampler:
    """An endless iterator of index batches over node `node`'s contiguous share of a dataset.

    Every epoch is a new permutation of the shard, drawn from `seed`, the node and the epoch alone;
    the last, smaller batch of an epoch is left out. So its place is one number, `position`.

    >>> sampler = MinibatchSampler(num_samples=8, batch_size=2, num_nodes=2, node=1, seed=0)
    >>> sorted(torch.cat([next(sampler), next(sampler)]).tolist())
    [4, 5, 6, 7]
    >>> sampler.state_dict()
    {'position': 2}
    """

    def __init__(
        self, num_samples: int, batch_size: int, num_nodes: int, node: int, seed: int = 0
    ) -> None:
        self._first = num_samples * node // num_nodes
        self._count = num_samples * (node + 1) // num_nodes - self._first
        fits = 0 < batch_size <= self._count
        require(fits, "batch_size", batch_size, f"1, …, {self._count}, the size of the shard")
        self._batch_size, self._seed, self._node = batch_size, seed, node
        self.position = 0

    def __iter__(self) -> "MinibatchSampler":
        return self

    def __next__(self) -> Tensor:
        epoch, batch = divmod(self.position, self._count // self._batch_size)
        generator = stream("minibatches", self._seed, self._node, epoch)
        order = torch.randperm(self._count, generator=generator)
        self.position += 1
        return self._first + order[batch * self._batch_size :][: self._batch_size]

    def state_dict(self) -> dict[str, Any]:
        """The number of batches drawn."""
        return {"position": self.position}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on after the batches drawn before."""
        self.position = state_dict["position"]
