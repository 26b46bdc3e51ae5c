"""Which samples a node sees when: shards, windows and batches, the same wherever it runs.

Everything here is a pure function of (seed, node, step), so a node of the simulator and a real
process of the same configuration see the same batches in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import SupportsIndex

import torch
from torch import Tensor

from gossamer.data.moving import Device, destination, move
from gossamer.errors import require, whole
from gossamer.seeding import stream


def token_shard(tokens: Tensor, node: int, num_nodes: int) -> Tensor:
    """The part of a stream of tokens that `node` holds.

    Each part is contiguous, and the lengths of the parts differ by at most one token.

    >>> [token_shard(torch.arange(7), node, 3).tolist() for node in range(3)]
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    require(0 <= node < num_nodes, "node", node, f"0, …, {num_nodes - 1}")
    return tokens.tensor_split(num_nodes)[node]


class TokenWindows:
    """Windows of a stream of tokens as inputs, and the same windows shifted by one as targets.

    With s = `stride` and c = `context`, the inputs of window k are tokens k s, …, k s + c − 1, and
    its targets are tokens k s + 1, …, k s + c. `windows[k]` returns both. If k is a tensor of
    several indices, inputs and targets have the shape of k with a last axis of length c added.

    >>> windows = TokenWindows(torch.arange(10), context=4, stride=2)
    >>> len(windows), *windows[1]
    (3, tensor([2, 3, 4, 5]), tensor([3, 4, 5, 6]))
    """

    def __init__(self, tokens: Tensor, context: int, stride: int) -> None:
        whole("context", context, 1)
        whole("stride", stride, 1)
        length = f"{len(tokens)} tokens"
        require(len(tokens) > context, "tokens", length, f"more than context = {context}")
        self.tokens, self.context, self.stride = tokens, context, stride

    def __len__(self) -> int:
        return (len(self.tokens) - self.context - 1) // self.stride + 1

    def __getitem__(self, index: int | Tensor) -> tuple[Tensor, Tensor]:
        if isinstance(index, int):
            index = range(len(self))[index]  # −1 is the last window
        start = torch.as_tensor(index, device=self.tokens.device) * self.stride
        return read_windows(self.tokens, start, self.context)

    def __repr__(self) -> str:
        return f"TokenWindows({len(self)} windows, context={self.context}, stride={self.stride})"

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> "TokenWindows":
        """The same windows on another device; `dtype` has no effect, since tokens are integers."""
        tokens = move(self.tokens, *destination(device, dtype))
        return TokenWindows(tokens, self.context, self.stride)


def read_windows(tokens: Tensor, start: Tensor, context: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of the windows that begin at `start`, each `(*start.shape, context)`."""
    window = tokens.unfold(0, context + 1, 1)[start]
    return window[..., :-1], window[..., 1:]


@dataclass(frozen=True)
class BatchOrder:
    """The batches of one node: in every epoch its samples are shuffled and cut into batches.

    Samples at the end of an epoch that do not fill a batch are left out of this epoch.

    Args:
        size: number of samples that the node holds.
        batch_size: samples per step.
        seed: the seed of the run.
        node: the number of the node, since each node has its own random order.

    >>> order = BatchOrder(size=7, batch_size=3, seed=0, node=1)
    >>> order.steps_per_epoch, order.at(5).tolist(), order.at(5).tolist()
    (2, [1, 6, 4], [1, 6, 4])

    For torch's loader, write
    `DataLoader(dataset, batch_sampler=list(order.batches(0, steps)))`.
    """

    size: int
    batch_size: int
    seed: int
    node: int

    def __post_init__(self) -> None:
        admissible = f"an integer in [1, {self.size}], the samples of node {self.node}"
        whole("size", self.size, 1)
        number = isinstance(self.batch_size, int | SupportsIndex)  # of an int it is known at once
        inside = number and 1 <= self.batch_size <= self.size
        require(inside, "batch_size", self.batch_size, admissible)

    @property
    def steps_per_epoch(self) -> int:
        """Number of steps in an epoch, in which no sample is used twice."""
        return self.size // self.batch_size

    def epoch(self, epoch: int) -> Tensor:
        """Sample indices of one epoch, `(steps_per_epoch, batch_size)`."""
        order = torch.randperm(self.size, generator=stream("order", self.seed, self.node, epoch))
        used = self.steps_per_epoch * self.batch_size
        return order[:used].view(self.steps_per_epoch, self.batch_size)

    def at(self, t: int) -> Tensor:
        """Sample indices of step `t`, counted from 0, `(batch_size,)`."""
        epoch, step = divmod(whole("t", t, 0), self.steps_per_epoch)
        return _recent_epoch(self, epoch)[step].clone()

    def batches(self, start: int, stop: int) -> Iterator[Tensor]:
        """Sample indices of steps `start`, …, `stop` − 1."""
        return map(self.at, range(start, stop))


@lru_cache(maxsize=2)
def _recent_epoch(order: BatchOrder, epoch: int) -> Tensor:
    """`order.epoch(epoch)`, drawn once while its batches are asked for one after the other."""
    return order.epoch(epoch)
