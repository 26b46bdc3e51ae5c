"""Which samples a node sees when: shards, windows and batches, the same wherever it runs.

Everything here is a pure function of (seed, node, step), so a node of the simulator and a real
process of the same configuration see the same batches in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from gossamer.data.moving import Device, destination, move
from gossamer.errors import require, whole
from gossamer.seeding import stream


def token_shard(tokens: Tensor, node: int, num_nodes: int) -> Tensor:
    """The contiguous part of a stream that `node` holds; parts differ by at most one token.

    >>> [token_shard(torch.arange(7), node, 3).tolist() for node in range(3)]
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    require(0 <= node < num_nodes, "node", node, f"0, …, {num_nodes - 1}")
    return tokens.tensor_split(num_nodes)[node]


class TokenWindows:
    """Windows of `context` tokens of a stream, `stride` apart, each with the next tokens as target.

    Window k reads tokens k·stride, …, k·stride + context − 1 and predicts the same shifted by one.
    An index may be a tensor; inputs and targets then have its shape with the context appended.

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
        """The same windows on another device; tokens are integers in every precision."""
        tokens = move(self.tokens, *destination(device, dtype))
        return TokenWindows(tokens, self.context, self.stride)


def read_windows(tokens: Tensor, start: Tensor, context: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of the windows that begin at `start`, each `(*start.shape, context)`."""
    window = tokens.unfold(0, context + 1, 1)[start]
    return window[..., :-1], window[..., 1:]


@dataclass(frozen=True)
class BatchOrder:
    """The batches of one node: every epoch a new permutation of its samples, cut into batches.

    The last samples of an epoch that do not fill a batch are left out of it.

    Args:
        size: how many samples the node holds.
        batch_size: samples per step.
        seed: of the run.
        node: which node.

    >>> order = BatchOrder(size=7, batch_size=3, seed=0, node=1)
    >>> order.steps_per_epoch, order.at(5).tolist(), order.at(5).tolist()
    (2, [1, 6, 4], [1, 6, 4])

    On a real process it drives a loader:
    `DataLoader(dataset, batch_sampler=list(order.batches(0, steps)))`.
    """

    size: int
    batch_size: int
    seed: int
    node: int

    def __post_init__(self) -> None:
        admissible = f"an integer in [1, {self.size}], the samples of node {self.node}"
        whole("size", self.size, 1)
        inside = 1 <= whole("batch_size", self.batch_size, 0) <= self.size
        require(inside, "batch_size", self.batch_size, admissible)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which every sample is seen at most once."""
        return self.size // self.batch_size

    def epoch(self, epoch: int) -> Tensor:
        """Sample indices of one epoch, `(steps_per_epoch, batch_size)`."""
        order = torch.randperm(self.size, generator=stream("order", self.seed, self.node, epoch))
        used = self.steps_per_epoch * self.batch_size
        return order[:used].view(self.steps_per_epoch, self.batch_size)

    def at(self, t: int) -> Tensor:
        """Sample indices of step `t` = 0, 1, …, `(batch_size,)`."""
        epoch, step = divmod(whole("t", t, 0), self.steps_per_epoch)
        return _recent_epoch(self, epoch)[step].clone()

    def batches(self, start: int, stop: int) -> Iterator[Tensor]:
        """Sample indices of steps `start`, …, `stop` − 1."""
        return map(self.at, range(start, stop))


@lru_cache(maxsize=2)
def _recent_epoch(order: BatchOrder, epoch: int) -> Tensor:
    """`order.epoch(epoch)`, drawn once while its batches are asked for one after the other."""
    return order.epoch(epoch)
