"""The mini-batches of all nodes and runs of a step."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from gossamer.data.moving import Device
from gossamer.data.order import BatchOrder, TokenWindows, read_windows, token_shard
from gossamer.data.pairs import Pairs, TensorPairs
from gossamer.seeding import SeedGroups

KEPT = 8
"""Stacks of runs whose batches are kept; those of others are found again."""


class NodeOrders:
    """Which samples all nodes and runs use, in the orders that `BatchOrder` gives.

    Args:
        sizes: how many samples each node holds.
        batch_size: samples per node and step.
        device: where the indices are.
    """

    def __init__(self, sizes: Sequence[int], batch_size: int, device: Device = "cpu") -> None:
        self.sizes, self.batch_size, self._device = list(sizes), batch_size, device
        smallest = min(range(len(self.sizes)), key=self.sizes.__getitem__)
        self.steps_per_epoch = self._order(0, smallest).steps_per_epoch

    def indices(self, t: int, seeds: Sequence[int]) -> Tensor:
        """Which samples each node and run uses in step `t`, `(nodes, runs, batch)`."""
        groups = _recent_groups(tuple(seeds), self._device)
        parts = [self._rows(t, tuple(groups.distinct), steps) for steps in self._nodes]
        by_seed = parts[0] if len(parts) == 1 else torch.cat(parts)[self._place]
        return by_seed if len(groups.distinct) == len(seeds) else by_seed[:, groups.place]

    @cached_property
    def _nodes(self) -> dict[int, list[int]]:
        """Steps per epoch → the nodes that have so many; no fingerprint sees what is cached."""
        nodes: dict[int, list[int]] = {}
        for node, size in enumerate(self.sizes):
            nodes.setdefault(size // self.batch_size, []).append(node)
        return nodes

    @cached_property
    def _place(self) -> Tensor:
        """Where each node is among those of `_nodes`, `(nodes,)`."""
        order = torch.tensor([node for nodes in self._nodes.values() for node in nodes])
        return sent(order.argsort(), self._device)

    @cached_property
    def _epochs(self) -> dict[tuple[int, ...], dict[int, tuple[int, Tensor]]]:
        """Seeds → steps per epoch → the epoch that is kept, and its orders."""
        return {}

    def _rows(self, t: int, seeds: tuple[int, ...], steps: int) -> Tensor:
        """The batches of step `t`, `(nodes, seeds, batch)`, of the nodes with so many per epoch.

        The epoch is kept on the device.
        """
        epoch, step = divmod(t, steps)
        of_nodes = self._epochs.setdefault(seeds, {})
        kept = of_nodes.get(steps)  # read once: another thread may put another there
        if kept is None or kept[0] != epoch:
            orders = self._orders(seeds, self._nodes[steps], epoch)
            kept = of_nodes[steps] = epoch, sent(orders, self._device)
            for old in list(self._epochs)[:-KEPT]:
                self._epochs.pop(old, None)
        return kept[1][step]

    def _orders(self, seeds: Sequence[int], nodes: Sequence[int], epoch: int) -> Tensor:
        """The batches of an epoch, `(steps, nodes, seeds, batch)`."""
        orders = [self._order(seed, node).epoch(epoch) for node in nodes for seed in seeds]
        return torch.stack(orders, dim=1).unflatten(1, (len(nodes), len(seeds)))

    def _order(self, seed: int, node: int) -> BatchOrder:
        return BatchOrder(self.sizes[node], self.batch_size, seed, node)

    def on(self, device: Device) -> "NodeOrders":
        """The same orders, their indices on another device."""
        return NodeOrders(self.sizes, self.batch_size, device)


def sent(index: Tensor, device: Device) -> Tensor:
    """The same on a device; a GPU goes on with its work meanwhile."""
    on_gpu = torch.device(device).type == "cuda"
    return index.pin_memory().to(device, non_blocking=True) if on_gpu else index.to(device)


@lru_cache(maxsize=8)
def _recent_groups(seeds: tuple[int, ...], device: Device) -> SeedGroups:
    """The same runs are asked for step after step; nothing is sent to a GPU for them again."""
    return SeedGroups.of(seeds, device)


class NodeBatches(NodeOrders):
    """Batches of datasets, one per node.

    Args:
        datasets: what each node holds.
        batch_size: samples per node and step.
        device: where the data are.
    """

    def __init__(self, datasets: Sequence[Pairs], batch_size: int, device: Device = "cpu") -> None:
        super().__init__(list(map(len, datasets)), batch_size, device)
        self.datasets = list(datasets)
        self._joined: tuple[TensorPairs, Tensor] | None = None
        if torch.device(device).type == "cuda":  # where every read of a node's data is a launch
            self._join()

    def _join(self) -> None:
        """Hold all nodes' samples in one piece, if they are tensors of one kind."""
        self._joined = joined(self.datasets)
        if self._joined is not None:
            whole = self._joined[0]
            parts = zip(
                whole.inputs.split(self.sizes), whole.targets.split(self.sizes), strict=True
            )
            self.datasets = [TensorPairs(*part) for part in parts]

    def at(self, t: int, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Inputs and targets of step `t`, each `(nodes, runs, batch, …)`."""
        return self.read(self.indices(t, seeds))

    def read(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The samples that `index`, `(nodes, runs, batch)`, picks of each node's data."""
        if self._joined is not None:
            data, first = self._joined
            return data[index + first]
        pairs = [data[rows] for data, rows in zip(self.datasets, index, strict=True)]
        inputs, targets = zip(*pairs, strict=True)
        return torch.stack(inputs), torch.stack(targets)

    def to(self, device: Device, dtype: torch.dtype) -> "NodeBatches":
        """The same on another device, floating-point data in another precision."""
        datasets = [data.to(device, dtype) for data in self.datasets]
        return NodeBatches(datasets, self.batch_size, device)


def joined(datasets: Sequence[Pairs]) -> tuple[TensorPairs, Tensor] | None:
    """All nodes' samples one after the other, and the first of each node, `(nodes, 1, 1)`.

    None where they are not tensors of one kind.
    """
    parts = [(data.inputs, data.targets) for data in datasets if isinstance(data, TensorPairs)]
    kinds = {tuple((z.dtype, z.shape[1:]) for z in part) for part in parts}
    if len(parts) < len(datasets) or len(kinds) > 1:
        return None
    inputs, targets = map(torch.cat, zip(*parts, strict=True))
    first = torch.tensor([0, *map(len, datasets)]).cumsum(0)[:-1]
    return TensorPairs(inputs, targets), first.to(inputs.device)[:, None, None]


class TokenBatches(NodeBatches):
    """Batches of windows of one stream, of which each node holds a part: read all at once.

    Args:
        tokens: the stream.
        num_nodes: into how many parts it is cut.
        context: tokens of a window.
        stride: tokens from the start of a window to the start of the next.
        batch_size: windows per node and step.
    """

    def __init__(
        self, tokens: Tensor, num_nodes: int, context: int, stride: int, batch_size: int
    ) -> None:
        shards = [token_shard(tokens, node, num_nodes) for node in range(num_nodes)]
        windows = [TokenWindows(shard, context, stride) for shard in shards]
        super().__init__(windows, batch_size, tokens.device)
        self.tokens, self.context, self.stride = tokens, context, stride
        first = torch.tensor([0, *(len(shard) for shard in shards)]).cumsum(0)[:-1]
        self._first = first.to(tokens.device)[:, None, None]  # token of each node

    def read(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The windows that `index`, `(nodes, runs, batch)`, picks, with one read of the stream."""
        start = torch.add(self._first, index, alpha=self.stride)
        return read_windows(self.tokens, start, self.context)

    def to(self, device: Device, dtype: torch.dtype) -> "TokenBatches":
        """The same on another device."""
        sizes = len(self.datasets), self.context, self.stride, self.batch_size
        return TokenBatches(self.tokens.to(device), *sizes)
