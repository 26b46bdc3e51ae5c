"""Links that remember nothing: numbers are sent as they are, or rounded."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.distributed.links.rounds import Rounds
from gossamer.distributed.links.sums import mixed, rounded
from gossamer.distributed.transport import Transport
from gossamer.networks.channel import Call


class Links(ABC):
    """The links of node i, which mix z of any length, `(dim,)`, with what its neighbours send.

    All nodes of the network must call the same verb. `memory` is what the links of this call
    remember; entries are replaced, never written in place, so that a failure changes nothing.
    """

    @abstractmethod
    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """(R_t z)_i, an opinion."""

    @abstractmethod
    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """(C_t z)_i, a total."""


@dataclass(frozen=True)
class Wire:
    """How a node's numbers travel.

    Args:
        transport: what carries them.
        dtype: of a message.
    """

    transport: Transport
    dtype: torch.dtype

    @property
    def node(self) -> int:
        """The node whose numbers they are."""
        return self.transport.node

    def rounded(self, z: Tensor) -> Tensor:
        """What a message says of z: at most the largest number of its dtype."""
        return z if self.dtype == z.dtype else rounded(z, z.new_empty(z.shape, dtype=self.dtype))

    def rounded_for_now(self, z: Tensor) -> Tensor:
        """Likewise, in memory that the next call of this thread overwrites."""
        same = self.dtype == z.dtype
        return z if same else rounded(z, self.transport.scratch(z, self.dtype))


class PlainLinks(Links):
    """(M z)_i = Σ_r m_ir z_r, in increasing order of r, where every z_r but z_i is a message of r.

    Where z has more digits than a message, as totals have, neighbours see the rounded
    q_r = round(z_r), and the sum, in the precision of z, is Σ_r m_ir q_r + (z_i − q_i). What a
    message lost stays with its sender, so that sums over the nodes are kept.
    """

    def __init__(self, rounds: Rounds, wire: Wire) -> None:
        self.rounds, self.wire = rounds, wire

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Σ_r r_ir z_r."""
        return self._mixed(self.rounds(call.t).weights, call, z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Σ_r c_ir z_r."""
        return self._mixed(self.rounds(call.t).shares, call, z)

    def _mixed(self, weights: Mapping[int, float], call: Call, z: Tensor) -> Tensor:
        message = self.wire.rounded_for_now(z)
        told = {**self._exchanged(call, message), self.wire.node: message}
        summands, out = [told[r] for r in weights], z if call.gives else torch.empty_like(z)
        return mixed(list(weights.values()), summands, z, message, out)

    def _exchanged(self, call: Call, message: Tensor) -> dict[int, Tensor]:
        """The same message to all, and what they sent, by sender."""
        round_t = self.rounds(call.t)
        sent = dict.fromkeys(round_t.sends, message)
        lengths = dict.fromkeys(round_t.hears, message.nbytes)
        received = self.wire.transport.transfer(call.site, sent, lengths)
        return {r: content.view(message.dtype) for r, content in received.items()}
