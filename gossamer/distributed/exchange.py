"""`mix` on real processes: messages to and from graph neighbours, then a weighted sum."""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.ahead import Ahead, Faster, NodeTalk
from gossamer.distributed.carrier import Carrier
from gossamer.distributed.links import Wire, links_of
from gossamer.distributed.links.late import brought_in
from gossamer.distributed.links.refusals import require_one_rounding
from gossamer.distributed.mailboxes import Mailboxes, Posted
from gossamer.distributed.transport import Transport
from gossamer.errors import require
from gossamer.networks import LinkMemory, Network

Overlap = bool | Literal["auto"]
"""Off, on, or whichever is faster."""


class NeighborExchange:
    """The messages of node i = `node`, one process of `group`; node numbers are its group ranks.

    What is mixed may have any length. What the links remember from step to step, e.g. totals in
    flight and public copies, is handed from talk to talk, in names of one node's.

    Lossy messages: where z has more digits than a message, as totals have, or with a narrow
    `message_dtype` (e.g. bfloat16), neighbours see z rounded, at most the largest number of that
    dtype. What a message lost stays with its sender, so that sums over the nodes are kept.

    Args:
        network: who hears whom in each round, with which weights, and what happens on the way.
        node: the node that this process is.
        like: a tensor like the parameters, `(dim,)`.
        group: the process group that carries the messages; None for a network of one node.
        message_dtype: dtype of the messages; by default that of `like`.
        timeout: seconds that a neighbour may be silent.
        seed: of the network's randomness, the same on all nodes; a simulated run of this seed has
            the same losses, partners and coins.
        overlap: whether what a step mixes of x and its state, untouched, is sent as soon as the
            step before has ended, see `Ahead`; "auto" finds out whether that is faster, which need
            not be the same on all nodes (with NCCL it is on).
        wait: whether a mix waits for the messages of its step; if not, see `LateLinks`.
    """

    def __init__(
        self,
        network: Network,
        node: int,
        like: Tensor,
        group: dist.ProcessGroup | None,
        message_dtype: torch.dtype | None = None,
        timeout: float = 60.0,
        seed: int = 0,
        overlap: Overlap = False,
        wait: bool = True,
    ) -> None:
        require_one_rounding(network, message_dtype)
        self.network, self.node = network, node
        self.transport = Transport(node, like, group, timeout)
        self.carrier = Carrier(self.transport)
        wire = Wire(self.carrier, _floating(message_dtype or like.dtype))
        self._wire, self._mailboxes = wire, None if wait else Mailboxes(self.transport)
        self._links = links_of(network, wire, seed, self._mailboxes)
        words = (False, True, "auto")
        require(overlap in words, "overlap", repr(overlap), 'False, True or "auto"')
        need = "False where nobody waits: there, messages travel meanwhile in any case"
        require(wait or not overlap, "overlap", overlap, need)
        self._ahead = Ahead(self._links, self.transport, like) if overlap else None
        self._faster = Faster() if overlap == "auto" and not self.transport.fused else None
        self._sent_ahead = 0

    def talk(self, t: int, memory: LinkMemory = (), held: Sequence[Tensor] = ()) -> NodeTalk:
        """The `mix` of step t, after links that remember `memory`; all nodes must call it.

        `held` is x and the fields of the state, as the step is given them.
        """
        self.transport.step = t
        return NodeTalk(self._links, t, memory, held, self._ahead)

    def end(self, talk: NodeTalk, t: int, held: Sequence[Tensor]) -> None:
        """End a step: begin of step t what `talk` has shown to be known before it."""
        self._sent_ahead += talk.bytes_sent
        if self._ahead is None or (self._faster and not (talk.known and self._faster())):
            return
        found = "a method that mixes nothing but what its gradient has changed"
        way_out = 'take order="combine-then-adapt", if it has one, or overlap=False'
        need = "one that mixes its parameters or its state as they are"
        require(bool(talk.known), "overlap", found, need, way_out)
        self.transport.step = t
        self._ahead.begin(t, talk.known, held, talk.memory)

    def forget(self) -> None:
        """Wait for what is under way before its step, and use none of it."""
        if self._ahead is not None:
            self._ahead.forget()

    def open(self) -> None:
        """Where nobody waits: begin with empty mailboxes, together with all nodes."""
        if self._mailboxes is not None:
            self._mailboxes.open()

    @property
    def at_rest(self) -> bool:
        """Whether no total can be under way: always between steps that wait for their messages."""
        return self._mailboxes is None or self._mailboxes.at_rest

    def posted(self) -> list[Posted]:
        """Where nobody waits: which totals were sent, to be told to `bring_in` of all nodes."""
        return self._mailboxes.posted() if self._mailboxes else []

    def bring_in(self, memory: LinkMemory, told: Sequence[Sequence[Posted]]) -> LinkMemory:
        """What the links remember when all that the nodes were `told` of has come, waited for."""
        assert self._mailboxes is not None
        memory = brought_in(memory, told, self._mailboxes, self._wire)
        self._mailboxes.at_rest = True
        return memory

    def take_bytes_sent(self) -> int:
        """Bytes of all messages of the steps since the last call."""
        taken, self._sent_ahead = self._sent_ahead, 0
        return taken + self.transport.take_bytes_sent()


def _floating(dtype: torch.dtype) -> torch.dtype:
    floating = isinstance(dtype, torch.dtype) and dtype.is_floating_point
    require(floating, "message_dtype", repr(dtype), "a floating-point dtype", "e.g. torch.bfloat16")
    return dtype
