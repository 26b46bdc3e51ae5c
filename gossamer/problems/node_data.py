"""What the nodes hold: a few tensors each, stacked for the nodes whose shapes agree."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from gossamer.data.moving import Device, move
from gossamer.digests import digest
from gossamer.errors import InvalidInput, require

Parts = tuple[Tensor, ...]


def named_data(node_data: Iterable[Any], name: str = "node_data") -> Iterator[tuple[str, Any]]:
    """The data of every node, each with what it is called where it is refused.

    A single dataset is refused, and a loader, whose batches would pass for nodes.

    >>> list(named_data([torch.zeros(3), torch.ones(3)]))
    [('node_data[0]', tensor([0., 0., 0.])), ('node_data[1]', tensor([1., 1., 1.]))]
    """
    several = isinstance(node_data, Iterable) and not isinstance(node_data, DataLoader)
    found = f"a single {type(node_data).__name__}"
    way_out = "split it, e.g. by data.split(8) or torch.utils.data.random_split(dataset, [1/8] * 8)"
    require(several, name, found, "a list with the data of each node", way_out)
    yield from ((f"{name}[{node}]", data) for node, data in enumerate(node_data))


@dataclass(frozen=True)
class Group:
    """Nodes whose tensors have the same shapes, and these tensors with an axis of nodes."""

    nodes: Tensor
    parts: Parts

    def rows(self, index: Tensor) -> Parts:
        """The samples that `index`, `(nodes, runs, batch)`, picks: `(nodes, runs, batch, …)`."""
        nodes = torch.arange(len(self.nodes), device=index.device)[:, None, None]
        return tuple(part[nodes, index[self.nodes]] for part in self.parts)


@dataclass(frozen=True)
class NodeData:
    """The data of all nodes.

    Attributes:
        groups: nodes by the shapes of what they hold.
        place: where in the concatenated groups each node is, `(nodes,)`.
        dtype: of all floating-point data.

    >>> data = NodeData.of([torch.zeros(3), torch.zeros(2), torch.ones(3)])
    >>> [group.nodes.tolist() for group in data.groups]
    [[0, 2], [1]]
    >>> data.map(lambda points, part: points + part.sum(-1), torch.tensor([10.0, 20.0, 30.0]))
    tensor([10., 20., 33.], dtype=torch.float64)
    """

    groups: tuple[Group, ...]
    place: Tensor
    dtype: torch.dtype = torch.float64

    @classmethod
    def of(cls, node_data: Iterable[Any]) -> Self:
        """From one tensor or array, or a tuple of them, for every node."""
        nodes = [as_parts(data, name) for name, data in named_data(node_data)]
        require(len(nodes) > 0, "node_data", "no nodes", "the data of at least 1 node")
        groups = tuple(_group(alike, nodes) for alike in _alike(nodes))
        order = torch.cat([group.nodes for group in groups])
        return cls(groups, order.argsort())

    def map(self, function: Callable[..., Tensor], points: Tensor) -> Tensor:
        """`function(points, *parts)` of every group, put together in the order of the nodes."""
        if len(self.groups) == 1:
            return function(points, *self.groups[0].parts)
        values = [function(points[group.nodes], *group.parts) for group in self.groups]
        return torch.cat(values)[self.place]

    def rows(self, index: Tensor) -> Parts:
        """The samples that `index`, `(nodes, runs, batch)`, picks of every node."""
        if len(self.groups) == 1:
            return self.groups[0].rows(index)
        picked = zip(*(group.rows(index) for group in self.groups), strict=True)
        return tuple(torch.cat(parts)[self.place] for parts in picked)

    def first(self) -> Parts:
        """What node 0 holds."""
        return tuple(part[0] for part in self.groups[0].parts)

    def sizes(self) -> list[int]:
        """How many samples each node holds: the length of its tensors, which must agree."""
        sizes = [0] * len(self.place)
        for group in self.groups:
            lengths = {part.shape[1] if part.ndim > 1 else None for part in group.parts}
            found = f"tensors of shapes {[tuple(part.shape[1:]) for part in group.parts]}"
            agree = len(lengths) == 1 and None not in lengths
            need = "tensors of one length, the samples of a node"
            require(agree, f"node_data[{int(group.nodes[0])}]", found, need, "or no batch_size")
            for node in group.nodes.tolist():
                sizes[node] = group.parts[0].shape[1]
        return sizes

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, floating-point data in another precision."""
        groups = tuple(
            Group(group.nodes.to(device), tuple(move(part, device, dtype) for part in group.parts))
            for group in self.groups
        )
        return replace(self, groups=groups, place=self.place.to(device), dtype=dtype)

    def digest(self) -> str:
        """Sixteen hexadecimal digits that name the data and who holds them."""
        content: list[Tensor | str] = []
        for part in (part for group in self.groups for part in (group.nodes, *group.parts)):
            content += [str(tuple(part.shape)), part.cpu().double()]
        return digest(*content)


def as_parts(data: Any, name: str) -> Parts:
    """The tensors of one node, floating-point ones in float64."""
    listed = data if isinstance(data, tuple | list) else (data,)
    known = all(isinstance(part, Tensor | np.ndarray | np.generic | float | int) for part in listed)
    found = type(data).__name__
    require(known, name, found, "a tensor or an array, or a tuple of them")
    try:
        parts = tuple(move(torch.as_tensor(part), None, torch.float64) for part in listed)
    except TypeError as reason:
        raise InvalidInput(f"{name}: got {reason}, need numbers") from reason
    finite = all(bool(part.isfinite().all()) for part in parts)
    require(finite, name, "NaN or infinite entries", "finite ones")
    return parts


def _alike(nodes: Sequence[Parts]) -> list[list[int]]:
    """Nodes by the shapes and kinds of their tensors, in order of appearance."""
    groups: dict[object, list[int]] = {}
    for node, parts in enumerate(nodes):
        groups.setdefault(tuple((part.shape, part.dtype) for part in parts), []).append(node)
    return list(groups.values())


def _group(alike: list[int], nodes: Sequence[Parts]) -> Group:
    parts = zip(*(nodes[node] for node in alike), strict=True)
    return Group(torch.tensor(alike), tuple(torch.stack(part) for part in parts))
