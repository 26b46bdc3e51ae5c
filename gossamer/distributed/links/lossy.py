"""Links that lose messages one way, and no total with them."""

import torch
from torch import Tensor

from gossamer.distributed.links.plain import Links, PlainLinks
from gossamer.distributed.links.rounds import Round
from gossamer.networks.channel import Call, Room


class LossyLinks(PlainLinks):
    """A message is sent in any case, and the receiver discards what is lost.

    An opinion that did not arrive is replaced by one's own. A total is kept by its sender, as
    f ← f + c z in the memory "in_flight.<receiver>", until it has arrived: the message is
    round(f), and what it brought is subtracted from f.
    """

    def room(self, call: Call, length: int, dtype: torch.dtype) -> Room:
        """A total has a message for each receiver."""
        return Links.room(self, call, length, dtype)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """c_ii z_i and what arrived."""
        round_t, node = self.rounds(call.t), self.wire.node
        reaches = round_t.reaches
        messages = {k: self._loaded(k, k in reaches, round_t, z, memory) for k in round_t.sends}
        lengths = dict.fromkeys(round_t.hears, z.numel() * self.wire.dtype.itemsize)
        received = self.wire.carrier.transfer(call.site, messages, lengths)
        total = z * round_t.shares.get(node, 0.0)
        for j in round_t.shares:
            if j != node:
                total.add_(received[j].view(self.wire.dtype).to(z))
        return total

    def _loaded(
        self, receiver: int, reached: bool, round_t: Round, z: Tensor, memory: dict[str, Tensor]
    ) -> Tensor:
        """The message to `receiver`; what it will not bring stays in flight."""
        name = f"in_flight.{receiver}"
        load = z * round_t.gives[receiver]
        if name in memory:
            load.add_(memory.pop(name))
        message = self.wire.rounded(load)
        if not reached:
            memory[name] = load
        elif message.dtype != load.dtype:
            memory[name] = load - message.to(load)
        return message
