"""`mix` on real processes: messages to and from graph neighbours, then a weighted sum."""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.algorithms import Both, Mix
from gossamer.distributed.failures import PeerFailure
from gossamer.errors import require
from gossamer.networks import Network, StaticNetwork


class Message(NamedTuple):
    """One operation a rank posts: a "send" or a "receive", with the rank at the other end."""

    kind: str
    peer: int


def messages_of(network: StaticNetwork, node: int) -> list[Message]:
    """What `node` posts in one round, in the order in which it posts it.

    Both ends of an edge read it from the same matrix, so every send has its receive. That matters:
    NCCL waits for ever on one that has not, even where gloo happens to pass.

    >>> from gossamer.networks import exponential
    >>> messages_of(exponential(4), 0)
    [Message(kind='receive', peer=2), Message(kind='receive', peer=3),
     Message(kind='send', peer=1), Message(kind='send', peer=2)]
    """
    receives = [Message("receive", peer) for peer in network.in_neighbors(node)]
    return receives + [Message("send", peer) for peer in network.out_neighbors(node)]


def weighted_sum(weights: Sequence[float], values: Sequence[Tensor]) -> Tensor:
    """Σ w_r z_r, added in the order given.

    >>> weighted_sum([0.5, 0.25], [torch.tensor([2.0]), torch.tensor([4.0])])
    tensor([2.])
    """
    total = values[0] * weights[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total.add_(value, alpha=weight)
    return total


class NeighborExchange:
    """The messages of node i = `node`, one process of `group`; node numbers are its group ranks.

    (W z)_i = Σ_r w_ir z_r, summed over r in increasing order, where every z_r but z_i arrives as a
    message of r. The receive buffers are kept from call to call, one per neighbour.

    Lossy messages: where z has more digits than a message, as totals have, or with a narrow
    `message_dtype` (e.g. bfloat16), neighbours see the rounded q_r = round(z_r), at most the
    largest number of that dtype, and the sum, in the precision of z, is Σ_r w_ir q_r + (z_i − q_i).
    What a message lost stays with its sender, so the network's average is still preserved.

    Args:
        network: who hears whom in each round, with which weights.
        node: the node that this process is.
        like: a tensor like those to be mixed, `(dim,)`.
        group: the process group that carries the messages; None for a network of one node.
        message_dtype: dtype of the messages; None sends z as it is.
        timeout: seconds that a neighbour may be silent.
    """

    def __init__(
        self,
        network: Network,
        node: int,
        like: Tensor,
        group: dist.ProcessGroup | None,
        message_dtype: torch.dtype | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._rounds = [
            (messages_of(one, node), one.neighbor_weights(node)) for one in network.rounds
        ]
        self.network, self.node, self.timeout = network, node, timeout
        self._group = weakref.ref(group) if group else None  # `leave` waits for groups not held
        self._bytes_sent = 0
        self._fused = uses_nccl(group, like)
        self._dtype = _floating(message_dtype or like.dtype)
        self._device = like.device if self._fused else torch.device("cpu")
        most = max(len(one.in_neighbors(node)) for one in network.rounds)
        self._received = [
            torch.empty(like.shape, dtype=self._dtype, device=self._device) for _ in range(most)
        ]

    @property
    def group(self) -> dist.ProcessGroup | None:
        """Who carries the messages."""
        return self._group() if self._group else None

    def take_bytes_sent(self) -> int:
        """Bytes of all messages sent since the last call."""
        taken, self._bytes_sent = self._bytes_sent, 0
        return taken

    def mixer(self, t: int) -> Mix:
        """z ↦ (W_t z)_i, the `mix` of step `t`; every node of the network must call it."""
        posts, weights = self._rounds[t % len(self._rounds)]

        def mix(z: Tensor) -> Tensor:
            message = self._rounded(z)
            held = self._transfer(message, posts, t)
            held[self.node] = message
            total = weighted_sum(list(weights.values()), [held[r].to(z) for r in weights])
            return total if message.dtype == z.dtype else total + (z - message.to(z))

        return Both(mix)

    def _rounded(self, z: Tensor) -> Tensor:
        if self._dtype != z.dtype:
            most = min(torch.finfo(self._dtype).max, torch.finfo(z.dtype).max)
            z = z.clamp(-most, most)
        return z.to(self._device, self._dtype)

    def _transfer(self, sent: Tensor, posts: Sequence[Message], t: int) -> dict[int, Tensor]:
        """Send to all out-neighbours, and return what arrived, by sender."""
        senders = [post.peer for post in posts if post.kind == "receive"]
        received = dict(zip(senders, self._received, strict=False))
        pending = []
        for batch in self._batches(posts):
            with self._naming_edges(batch, t):
                ops = [self._operation(post, sent, received) for post in batch]
                pending.append((batch, dist.batch_isend_irecv(ops)))
        for batch, works in pending:
            with self._naming_edges(batch, t):
                for work in works:
                    work.wait() if self._fused else work.wait(timedelta(seconds=self.timeout))
        self._bytes_sent += sent.nbytes * (len(posts) - len(senders))
        return received

    def _batches(self, posts: Sequence[Message]) -> Iterator[Sequence[Message]]:
        """NCCL takes a round in one batch; gloo message by message, so that each can fail alone."""
        yield from filter(None, [posts] if self._fused else ([post] for post in posts))

    @contextmanager
    def _naming_edges(self, batch: Sequence[Message], t: int) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            edges = [self._edge(post) for post in batch]
            raise PeerFailure(self.node, edges, t, str(error).splitlines()[0]) from None

    def _operation(self, post: Message, sent: Tensor, received: dict[int, Tensor]) -> dist.P2POp:
        if post.kind == "send":
            return dist.P2POp(dist.isend, sent, group=self.group, group_peer=post.peer)
        return dist.P2POp(dist.irecv, received[post.peer], group=self.group, group_peer=post.peer)

    def _edge(self, post: Message) -> tuple[int, int]:
        return (self.node, post.peer) if post.kind == "send" else (post.peer, self.node)


def _floating(dtype: torch.dtype) -> torch.dtype:
    floating = isinstance(dtype, torch.dtype) and dtype.is_floating_point
    require(floating, "message_dtype", repr(dtype), "a floating-point dtype", "e.g. torch.bfloat16")
    return dtype


def uses_nccl(group: dist.ProcessGroup | None, tensor: Tensor) -> bool:
    """Whether messages like `tensor` go by NCCL; else they go by gloo, through the CPU."""
    return group is not None and tensor.is_cuda and "nccl" in str(dist.get_backend_config(group))
