"""Bytes to and from other processes."""

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.collectives import met_in
from gossamer.distributed.failures import PeerFailure
from gossamer.errors import first_line


class Message(NamedTuple):
    """One operation a rank posts: a "send" or a "receive" of bytes, and who is at the other end."""

    kind: str
    peer: int
    content: Tensor


LANE = 1 << 20
"""Tags of a lane: more than its messages and boxes ever have."""

LANES = (1 << 31) // LANE
"""As many as there are: torch takes tags below 2³¹."""


class ThreadTraffic(threading.local):
    """What a thread that transfers messages has of its own."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[int, int], Tensor] = {}
        """Where messages are received, by peer and place; bytes."""
        self.bytes_sent = 0


class Transfer(NamedTuple):
    """Messages that are under way."""

    transport: "Transport"
    begun: Sequence[tuple[Sequence[Message], Sequence[dist.Work]]]

    def arrived(self) -> dict[int, Tensor]:
        """Wait for all of them, and return the bytes that were received, by sender."""
        for batch, works in self.begun:
            self.transport.wait(batch, works)
        return {post.peer: post.content for post in self._received}

    @property
    def senders(self) -> list[int]:
        """Whose messages they are."""
        return [post.peer for post in self._received]

    @property
    def _received(self) -> list[Message]:
        posts = [post for batch, _ in self.begun for post in batch]
        return [post for post in posts if post.kind == "receive"]


class Transport:
    """What carries the messages of node i = `node`; node numbers are the ranks of its group.

    Receive buffers are kept from call to call, for each neighbour and thread at two places, so that
    messages can be under way while those before are read. Threads may transfer at the same
    time where messages go by gloo, each at a site of its own, and so may several transports of one
    group, each in a `lane` of its own, a number that is the same on all nodes.

    Args:
        node: the node that this process is.
        like: a tensor like those that messages tell of.
        group: the process group that carries the messages; None for a network of one node.
        timeout: seconds that a neighbour may be silent.
    """

    def __init__(
        self, node: int, like: Tensor, group: dist.ProcessGroup | None, timeout: float
    ) -> None:
        self.node, self.timeout, self.step, self.lane = node, timeout, 0, 0
        self._group = weakref.ref(group) if group else None  # `leave` waits for groups not held
        self.fused = uses_nccl(group, like.device)
        self._device = like.device if self.fused else torch.device("cpu")
        self._own = ThreadTraffic()

    @property
    def group(self) -> dist.ProcessGroup | None:
        """Who carries the messages."""
        return self._group() if self._group else None

    def take_bytes_sent(self) -> int:
        """Bytes of all messages that this thread has sent since it last asked."""
        taken, self._own.bytes_sent = self._own.bytes_sent, 0
        return taken

    def count_sent(self, size: int) -> None:
        """Count bytes of messages that this thread sends."""
        self._own.bytes_sent += size

    def begin(
        self, site: int, sent: Mapping[int, Tensor], lengths: Mapping[int, int], place: int = 0
    ) -> Transfer:
        """Send a tensor to each of some nodes, and receive those of some.

        What is received is overwritten by the next transfer at its place. Both ends of a link must
        post alike: NCCL waits for ever on a message that nobody takes, even where gloo happens to
        pass.

        Args:
            site: which mix of a step it is. gloo keeps the messages of different sites apart, NCCL
                needs all ranks to transfer in the same order.
            sent: receiver → its message, which is not to be written before it has arrived.
            lengths: sender → how many bytes it sends.
            place: where messages are received.
        """
        posts = [self._receive(r, lengths[r], place) for r in sorted(lengths)]
        posts += [Message("send", r, self._as_bytes(sent[r])) for r in sorted(sent)]
        begun = []
        for batch in self._batches(posts):
            with self._naming_edges(batch):
                works = dist.batch_isend_irecv([self._operation(post, site) for post in batch])
                begun.append((batch, works))
        return Transfer(self, begun)

    def post(self, message: Message, tag: int) -> dist.Work:
        """Begin one message of bytes on the CPU, by gloo."""
        with self._naming_edges([message]):
            (work,) = dist.batch_isend_irecv([self._operation(message, tag)])
        return work

    def wait(self, batch: Sequence[Message], works: Sequence[dist.Work]) -> None:
        """Wait for operations that were posted together."""
        with self._naming_edges(batch):
            for work in works:
                work.wait() if self.fused else work.wait(timedelta(seconds=self.timeout))
        if self.group is not None:
            met_in(self.group).update(post.peer for post in batch if post.kind == "receive")

    def _receive(self, peer: int, length: int, place: int) -> Message:
        buffers = self._own.buffers
        if (peer, place) not in buffers or len(buffers[peer, place]) < length:
            buffers[peer, place] = torch.empty(length, dtype=torch.uint8, device=self._device)
        return Message("receive", peer, buffers[peer, place][:length])

    def _as_bytes(self, message: Tensor) -> Tensor:
        return message.to(self._device).contiguous().view(torch.uint8)

    def _batches(self, posts: Sequence[Message]) -> Iterator[Sequence[Message]]:
        """NCCL takes a round in one batch; gloo message by message, so that each can fail alone."""
        yield from filter(None, [posts] if self.fused else ([post] for post in posts))

    @contextmanager
    def _naming_edges(self, batch: Sequence[Message]) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise self.failure(batch, first_line(error)) from None

    def failure(self, posts: Sequence[Message], reason: str) -> PeerFailure:
        """What to raise where these failed."""
        return PeerFailure(self.node, [self._edge(post) for post in posts], self.step, reason)

    def _operation(self, post: Message, tag: int) -> dist.P2POp:
        operation = dist.isend if post.kind == "send" else dist.irecv
        of_lane = LANE * self.lane + tag
        return dist.P2POp(operation, post.content, None, self.group, of_lane, post.peer)

    def _edge(self, post: Message) -> tuple[int, int]:
        return (self.node, post.peer) if post.kind == "send" else (post.peer, self.node)


def uses_nccl(group: dist.ProcessGroup | None, device: torch.device) -> bool:
    """Whether messages from there go by NCCL; else they go by gloo, through the CPU."""
    return (
        group is not None
        and device.type == "cuda"
        and "nccl" in str(dist.get_backend_config(group))
    )
