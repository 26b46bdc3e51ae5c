"""`mix` on real processes: messages to and from graph neighbours, then a weighted sum."""

import torch
import torch.distributed as dist
from torch import Tensor

from gossamer.distributed.links import Wire, links_of
from gossamer.distributed.links.refusals import require_one_rounding
from gossamer.distributed.transport import Transport
from gossamer.errors import require
from gossamer.networks import LinkMemory, Network, Talk
from gossamer.networks.channel import RememberedTalk


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
    ) -> None:
        require_one_rounding(network, message_dtype)
        self.network, self.node = network, node
        self.transport = Transport(node, like, group, timeout)
        wire = Wire(self.transport, _floating(message_dtype or like.dtype))
        self._links = links_of(network, wire, seed)

    def talk(self, t: int, memory: LinkMemory = ()) -> Talk:
        """The `mix` of step t, after links that remember `memory`; all nodes must call it."""
        self.transport.step = t
        return RememberedTalk(self._links, t, memory)

    def take_bytes_sent(self) -> int:
        """Bytes of all messages sent since the last call."""
        taken, self.transport.bytes_sent = self.transport.bytes_sent, 0
        return taken


def _floating(dtype: torch.dtype) -> torch.dtype:
    floating = isinstance(dtype, torch.dtype) and dtype.is_floating_point
    require(floating, "message_dtype", repr(dtype), "a floating-point dtype", "e.g. torch.bfloat16")
    return dtype
