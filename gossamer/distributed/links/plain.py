"""Links that remember nothing: numbers are sent as they are, or rounded."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gossamer.distributed.carrier import Carried, Carrier
from gossamer.distributed.failures import PeerFailure
from gossamer.distributed.links.rounds import Rounds
from gossamer.distributed.links.sums import Terms, mixed, placed_beside, placed_by_swap, rounded
from gossamer.native.precisions import NARROWER
from gossamer.networks.channel import Call, Room

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

    def room(self, call: Call, length: int, dtype: torch.dtype) -> Room:
        """Where to write what a call will mix, on the CPU."""
        return Room(torch.empty(length, dtype=dtype))


@dataclass(frozen=True)
class Wire:
    """How a node's numbers travel.

    Args:
        carrier: what carries them.
        dtype: of a message.
    """

    carrier: Carrier
    dtype: torch.dtype

    @property
    def node(self) -> int:
        """The node whose numbers they are."""
        return self.carrier.node

    def rounded(self, z: Tensor) -> Tensor:
        """What a message says of z: at most the largest number of its dtype."""
        return z if self.dtype == z.dtype else rounded(z, z.new_empty(z.shape, dtype=self.dtype))

    def room(self, site: int, place: int, receivers: Sequence[int], length: int) -> Tensor | None:
        """Where to write a message of `length` numbers so that some receivers can read it there."""
        size = length * self.dtype.itemsize
        found = self.carrier.room(site, place, receivers, size)
        return None if found is None else found.view(self.dtype)

    def message(self, site: int, place: int, receivers: Sequence[int], z: Tensor) -> Tensor:
        """What a message to all receivers says of z."""
        if self.carrier.holds(z):
            return z
        room = self.room(site, place, receivers, len(z))
        if room is None:
            return self.rounded(z)
        return room.copy_(z) if self.dtype == z.dtype else rounded(z, room)

    def parts(self, *vectors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """The same parts of each, of which one message tells; with NCCL the whole."""
        size = max(1, len(vectors[0])) if self.carrier.fused else PART
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

    def room(self, call: Call, length: int, dtype: torch.dtype) -> Room:
        """A message of one part is written where it is read, or where it is sent from."""
        written_at_once = self.wire.dtype in (dtype, *NARROWER.get(dtype, ()))
        if length > PART or self.wire.carrier.fused or not written_at_once:
            return super().room(call, length, dtype)
        said = self.wire.room(call.site, 0, self.rounds(call.t).sends, length)
        if said is None:
            said = torch.empty(length, dtype=self.wire.dtype)
        if self.wire.dtype == dtype:
            return Room(said)
        return Room(torch.empty(length, dtype=dtype), said)

    def _mixed(self, weights: Mapping[int, float], call: Call, z: Tensor) -> Tensor:
        """Part by part: while one is summed up, the messages about the next are under way."""
        if call.room and call.room.into is not None and len(z) <= PART:
            return self._placed(weights, call, z, call.room.into)
        read_by_others = self.wire.carrier.holds(z)
        out = z if call.room and not read_by_others else torch.empty_like(z)
        begun: deque[PartUnderWay] = deque()
        for number, (own, total) in enumerate(self.wire.parts(z, out)):
            begun.append(self._begin(call, own, total, number % 2))
            if len(begun) == 2:
                self._sum_up(weights, begun.popleft(), call.squares)
        for part in begun:
            self._sum_up(weights, part, call.squares)
        return out

    def _placed(self, weights: Mapping[int, float], call: Call, z: Tensor, into: Tensor) -> Tensor:
        """Where it is to be, if it is finite; else elsewhere, and what is there stays."""
        part = self._begin(call, z, into, 0)
        place = placed_beside if self.wire.carrier.holds(z) else placed_by_swap
        out = place(self._terms(weights, part), into, call.squares)
        with suppress(PeerFailure):  # too late: whoever has gone is noticed in the next step
            part.carried.release()
        return out

    def _begin(self, call: Call, own: Tensor, total: Tensor, place: int) -> "PartUnderWay":
        """The same message to all."""
        round_t = self.rounds(call.t)
        said = call.room.said if call.room else None
        if said is None:
            said = self.wire.message(call.site, place, round_t.sends, own)
        sent = dict.fromkeys(round_t.sends, said)
        lengths = dict.fromkeys(round_t.hears, said.nbytes)
        carried = self.wire.carrier.begin(call.site, sent, lengths, place)
        return PartUnderWay(own, total, said, carried)

    def _sum_up(
        self, weights: Mapping[int, float], part: "PartUnderWay", squares: list[float] | None
    ) -> None:
        mixed(*self._terms(weights, part), part.total, squares)
        part.carried.release()

    def _terms(self, weights: Mapping[int, float], part: "PartUnderWay") -> Terms:
        """What is to be summed up, when it has come."""
        received, message = part.carried.arrived(), part.message
        told = {r: content.view(message.dtype) for r, content in received.items()}
        told[self.wire.node] = message
        return Terms(list(weights.values()), [told[r] for r in weights], part.own, message)


class PartUnderWay(NamedTuple):
    """A part of what is mixed, the messages about which are under way."""

    own: Tensor
    total: Tensor
    """Where the sum goes."""

    message: Tensor
    carried: Carried
