"""Links that remember nothing: numbers are sent as they are, or rounded."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gossamer.distributed.links.rounds import Rounds
from gossamer.distributed.links.sums import mixed, rounded
from gossamer.distributed.transport import Transfer, Transport
from gossamer.networks.channel import Call

PART = 2**22
"""Numbers of a part: large enough that its messages cost no more than those of the whole."""


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

    def parts(self, *vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """The same parts of each, of which one message tells; with NCCL the whole."""
        size = max(1, len(vectors[0])) if self.transport.fused else PART
        return zip(*(z.split(size) for z in vectors), strict=True)


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
        """Part by part: while one is summed up, the messages about the next are under way."""
        out = z if call.gives else torch.empty_like(z)
        begun: deque[Begun] = deque()
        for number, (own, total) in enumerate(self.wire.parts(z, out)):
            begun.append(self._begin(call, own, total, number % 2))
            if len(begun) == 2:
                self._sum_up(weights, begun.popleft())
        for part in begun:
            self._sum_up(weights, part)
        return out

    def _begin(self, call: Call, own: Tensor, total: Tensor, place: int) -> "Begun":
        """The same message to all."""
        round_t, message = self.rounds(call.t), self.wire.rounded(own)
        sent = dict.fromkeys(round_t.sends, message)
        lengths = dict.fromkeys(round_t.hears, message.nbytes)
        transfer = self.wire.transport.begin(call.site, sent, lengths, place)
        return Begun(own, total, message, transfer)

    def _sum_up(self, weights: Mapping[int, float], part: "Begun") -> None:
        received, message = part.transfer.arrived(), part.message
        told = {r: content.view(message.dtype) for r, content in received.items()}
        told[self.wire.node] = message
        summands = [told[r] for r in weights]
        mixed(list(weights.values()), summands, part.own, message, part.total)


class Begun(NamedTuple):
    """A part of what is mixed, the messages about which are under way."""

    own: Tensor
    total: Tensor
    """Where the sum goes."""

    message: Tensor
    transfer: Transfer
