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


SENT = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
"""Precisions of messages."""


class NeighborExchange:
    """Exchanges the messages of one node with its neighbours; used by `DecentralizedOptimizer`.

    Node i is the process with rank i in `group`. The vectors that are mixed may have any length.
    Totals, e.g. gradient trackers, are vectors whose sum over the nodes must not change when the
    nodes mix. Links may have to keep tensors from step to step, e.g. totals that have not arrived
    yet. These tensors are not stored here: `talk` takes them as `memory`, and the object that it
    returns has the new ones as its `memory`.

    A message is rounded if the vector that is mixed has a higher precision than the messages. This
    happens with a narrow `message_dtype`, e.g. bfloat16, and also with totals, which are kept in
    float64. Numbers beyond the range of the messages' dtype are replaced by its largest number. The
    sender keeps the error that this causes, so that sums over the nodes do not change.

    Args:
        network: which nodes send messages to which in each round, with which weights, and whether
            messages are compressed or lost.
        node: the number of this process's node.
        like: a tensor with the shape `(dim,)`, the dtype and the device of the parameters.
        group: the process group that carries the messages; None for a network of one node.
        message_dtype: dtype of the messages; by default that of `like`.
        timeout: seconds that a neighbour may be silent before it counts as failed.
        seed: determines the random choices of the network, and must be the same on all nodes. A
            simulation with this seed makes the same choices.
        overlap: whether messages that do not depend on the next gradient (x and fields of the state
            that the next step will mix unchanged) are sent as soon as the current step has ended.
            With "auto", each node finds out for itself whether that is faster. With NCCL, "auto"
            means True.
        wait: whether a mix waits for the messages of its step. If not, it uses the messages that
            have arrived.
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
        require(wait in (True, False), "wait", repr(wait), "True or False")
        words = (False, True, "auto")
        require(overlap in words, "overlap", repr(overlap), 'False, True or "auto"')
        need = "False where nobody waits: there, messages travel meanwhile in any case"
        require(wait or not overlap, "overlap", overlap, need)
        self._ahead = Ahead(self._links, self.transport, like) if overlap else None
        self._faster = Faster() if overlap == "auto" and not self.transport.fused else None
        self._sent_ahead = 0

    def talk(self, t: int, memory: LinkMemory = (), held: Sequence[Tensor] = ()) -> NodeTalk:
        """The `mix` for step t, which exchanges the messages of this step with the neighbours.

        All nodes must call `talk` for every step.

        Args:
            t: the step.
            memory: the tensors that the links kept, i.e. the `memory` after the last step.
            held: x and the fields of the state, exactly the tensors that the step is given.
        """
        self.transport.step = t
        return NodeTalk(self._links, t, memory, held, self._ahead)

    def take_lane(self, lane: int | None) -> None:
        """Keep messages apart from those of other lanes; all nodes must take the same one."""
        self.transport.lane = lane or 0

    def end(self, talk: NodeTalk, t: int, held: Sequence[Tensor]) -> None:
        """End a step; with `overlap`, also send the messages of the next step that are known.

        Args:
            talk: the `mix` of the step that ends.
            t: the next step.
            held: x and the fields of the state after the step that ends.
        """
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
        """Wait for the messages that were sent ahead because of `overlap`, and discard them."""
        if self._ahead is not None:
            self._ahead.forget()

    def open(self) -> None:
        """With `wait=False`, ignore messages that are still in transit; all nodes must call it."""
        if self._mailboxes is not None:
            self._mailboxes.open()

    @property
    def at_rest(self) -> bool:
        """True if it is certain that no total is in transit, as between steps with `wait=True`."""
        return self._mailboxes is None or self._mailboxes.at_rest

    def posted(self) -> list[Posted]:
        """With `wait=False`, how many messages with totals this node has sent to each neighbour."""
        return self._mailboxes.posted() if self._mailboxes else []

    def bring_in(self, memory: LinkMemory, told: Sequence[Sequence[Posted]]) -> LinkMemory:
        """With `wait=False`, wait for all totals that are in transit; returns the new memory.

        Args:
            memory: the tensors that the links of this node keep.
            told: for each node, the list that `posted` returned there.
        """
        assert self._mailboxes is not None
        memory = brought_in(memory, told, self._mailboxes, self._wire)
        self._mailboxes.at_rest = True
        return memory

    def take_bytes_sent(self) -> int:
        """Bytes of all messages that were sent in the steps since the last call."""
        taken, self._sent_ahead = self._sent_ahead, 0
        return taken + self.transport.take_bytes_sent()


def _floating(dtype: torch.dtype) -> torch.dtype:
    need = "torch.bfloat16, float16, float32 or float64"
    require(dtype in SENT, "message_dtype", repr(dtype), need)
    return dtype
