"""What all nodes do together, in messages along the links of their network."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.collectives import LONGEST, Interrupted, met_in, read_json
from gossamer.errors import first_line, require
from gossamer.networks import Network

CHUNK = 1 << 20
"""Bytes of a message: while one is on its way up or down, the next one follows."""

TAG = 0x7EE
"""Of these messages: those of a step may be on their way over the same connections."""


class Place(NamedTuple):
    """Where a node stands in a tree: whom it tells of those below, and who they are."""

    parent: int | None
    children: list[int]


def linked(network: Network, node: int) -> list[int]:
    """Whom the node sends to or hears from in some round, the next numbers first.

    >>> from gossamer.networks import ring, star
    >>> linked(ring(5), 3), linked(star(4), 0), linked(star(4), 2)
    ([4, 2], [1, 2, 3], [0])
    """
    ends = {k for one in network.rounds for k in one.in_neighbors(node) + one.out_neighbors(node)}
    return sorted(ends, key=lambda k: (k - node) % network.num_nodes)


def place_in_tree(network: Network, node: int) -> Place:
    """Where the node stands in a tree of links that reaches all, with node 0 at its top.

    It goes deep rather than wide, so that few messages meet at one node. Nodes that no link leads
    to are below node 0.

    >>> from gossamer.networks import complete, line
    >>> place_in_tree(complete(4), 0), place_in_tree(line(4), 3)
    (Place(parent=None, children=[1]), Place(parent=2, children=[]))
    """
    parents: dict[int, int] = {}
    for start in range(network.num_nodes):
        waiting = [(start, 0)]
        while waiting:
            found, above = waiting.pop()
            if found not in parents:
                parents[found] = above
                waiting += [(k, found) for k in reversed(linked(network, found))]
    children = [k for k, above in sorted(parents.items()) if above == node and k != 0]
    return Place(parents[node] if node else None, children)


class Tree:
    """One node in a tree of links: what is told goes up to node 0 and, put together, down again.

    Args:
        place: of this node.
        node: its number, which is its rank in the group.
        group: the process group that carries the messages, by gloo.
        timeout: seconds that another may be silent.
    """

    def __init__(self, place: Place, node: int, group: dist.ProcessGroup, timeout: float) -> None:
        self._place, self._node, self._group = place, node, group
        self._limit = timedelta(seconds=timeout)
        self._sent: list[Any] = []

    def gather(self, value: Any) -> list[Any]:
        """`value` of every node, by number, as JSON knows it."""
        try:
            told = {str(self._node): value}
            for child in self._place.children:
                told |= self._hear(child)
            if self._place.parent is not None:
                self._tell(self._place.parent, told)
                told = self._hear(self._place.parent)
            for child in self._place.children:
                self._tell(child, told)
            self._finish()
        except RuntimeError as reason:
            raise Interrupted(first_line(reason)) from None
        return [told[str(node)] for node in range(len(told))]

    def total(self, tensor: Tensor) -> Tensor:
        """Σ over the nodes, in place, of a tensor that is contiguous."""
        host = tensor.cpu().view(-1)
        try:
            chunks = host.split(max(1, CHUNK // host.element_size()))
            works = [self._summed(chunk) for chunk in chunks]
            for chunk, work in zip(chunks, works, strict=True):
                self._spread(chunk, work)
            self._finish()
        except RuntimeError as reason:
            raise Interrupted(first_line(reason)) from None
        return tensor.copy_(host.view(tensor.shape)) if tensor.is_cuda else tensor

    def _summed(self, chunk: Tensor) -> Any:
        """Add what those below tell, and tell it those above."""
        theirs = torch.empty_like(chunk)
        for child in self._place.children:
            self._receive(theirs, child)
            chunk.add_(theirs)
        return None if self._place.parent is None else self._send(chunk, self._place.parent)

    def _spread(self, chunk: Tensor, told: Any) -> None:
        """Take the sum from above, once it was told, and tell it those below."""
        if self._place.parent is not None:
            told.wait(self._limit)
            self._receive(chunk, self._place.parent)
        self._sent += [self._send(chunk, child) for child in self._place.children]

    def _tell(self, peer: int, told: Mapping[str, Any]) -> None:
        text = torch.frombuffer(bytearray(json.dumps(told).encode()), dtype=torch.uint8)
        self._sent += [self._send(torch.tensor([len(text)]), peer), self._send(text, peer)]

    def _hear(self, peer: int) -> dict[str, Any]:
        length = torch.empty(1, dtype=torch.int64)
        self._receive(length, peer)
        most = LONGEST * dist.get_world_size(self._group)
        fits = 0 < int(length) <= most
        require(fits, "message", f"{int(length)} bytes from rank {peer}", f"at most {most}")
        text = torch.empty(int(length), dtype=torch.uint8)
        self._receive(text, peer)
        told: dict[str, Any] = read_json(bytes(text.numpy()), peer)
        return told

    def _send(self, content: Tensor, peer: int) -> Any:
        return dist.isend(content.view(torch.uint8), group=self._group, group_dst=peer, tag=TAG)

    def _receive(self, content: Tensor, peer: int) -> None:
        raw = content.view(torch.uint8)
        work = dist.irecv(raw, group=self._group, group_src=peer, tag=TAG)
        assert work is not None
        work.wait(self._limit)
        met_in(self._group).add(peer)

    def _finish(self) -> None:
        for work in self._sent:
            work.wait(self._limit)
        self._sent.clear()
