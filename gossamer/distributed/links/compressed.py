"""Links that carry compressed messages about public copies."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from gossamer.distributed.links.plain import Links, Wire
from gossamer.distributed.links.rounds import Round, Rounds
from gossamer.distributed.links.sums import weighted_sum
from gossamer.networks.chance import Coins
from gossamer.networks.channel import Call
from gossamer.networks.compressed import Compressed
from gossamer.networks.compressors.message import join, take


class CompressedLinks(Links):
    """z + γ (M ĥ − ĥ) with the public copies ĥ of this node and of all it hears.

    The links remember "copy", one's own, "copy.<sender>", and where messages are lost
    "unheard.<receiver>", those that have not reached it yet, one after the other: all are sent
    again with the next. The receiver notes their rounds in "missed.<sender>" and decodes them in
    order, so that all copies of a node are the same bits. The first message ever is whole.
    """

    def __init__(self, network: Compressed, rounds: Rounds, wire: Wire, seed: int) -> None:
        links = network.rounds[0]
        self._network, self._rounds, self._wire, self._seed = network, rounds, wire, seed
        self._receivers = links.out_neighbors(wire.node)
        self._senders = links.in_neighbors(wire.node)

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z + γ (R ĥ − ĥ)."""
        copies = self._copies(call, z, memory)
        return self._towards(self._rounds(call.t).weights, copies, z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z + γ (C ĥ − ĥ)."""
        copies = self._copies(call, z, memory)
        return self._towards(self._rounds(call.t).shares, copies, z)

    def _copies(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> dict[int, Tensor]:
        """What the links tell in this round, and what it makes of the copies, by node."""
        news = self._exchanged(call, z, memory)
        for sender, copies in news.items():
            for copy in copies:
                memory[f"copy.{sender}"] = copy
        return {**{j: memory[f"copy.{j}"] for j in news}, self._wire.node: memory["copy"]}

    def _towards(
        self, weights: Mapping[int, float], copies: Mapping[int, Tensor], z: Tensor
    ) -> Tensor:
        """(z − γĥ) + γ Σ m_ij ĥ_j."""
        mixed = weighted_sum(list(weights.values()), [copies[j].to(z) for j in weights])
        return self._moved(z, copies[self._wire.node], mixed)

    def _moved(self, z: Tensor, copy: Tensor, mixed: Tensor) -> Tensor:
        gamma = self._network.gamma_for(len(z))
        return torch.sub(z, copy, alpha=gamma).add_(mixed, alpha=gamma)

    # ------------------------------------------------------------------ messages

    def _exchanged(
        self, call: Call, z: Tensor, memory: dict[str, Tensor]
    ) -> dict[int, Iterator[Tensor]]:
        """Tell of z; of everyone whose message arrives, its copies since it was heard last."""
        round_t = self._rounds(call.t)
        owed = self._owed(round_t, self._message(call, z, memory), memory)
        missed = self._missed(call.t, round_t, memory)
        received = self._wire.carrier.transfer(
            call.site,
            {k: owed[k] for k in round_t.sends},
            {j: self._length(j, len(missed[j]), z, memory) for j in round_t.hears},
        )
        return {
            j: self._decoded(j, received[j].to(z.device), missed[j], call, z, memory)
            for j in round_t.hears
            if j in round_t.weights
        }

    def _message(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """The bytes of this round's message, which move one's own copy, too."""
        if "copy" not in memory:
            memory["copy"] = self._wire.rounded(z).clone()
            return join(memory["copy"])
        compressor, coins = self._network.compressor, self._coins(self._wire.node, z, call)
        message = compressor.encode(memory["copy"], z, coins)
        memory["copy"] = compressor.decode(memory["copy"], message, coins)
        return message

    def _owed(
        self, round_t: Round, message: Tensor, memory: dict[str, Tensor]
    ) -> dict[int, Tensor]:
        """All that each receiver has not heard yet, which stays owed if it does not reach it."""
        owed = {}
        for k in self._receivers:
            before = memory.pop(f"unheard.{k}", None)
            owed[k] = message if before is None else torch.cat([before, message])
            if k not in round_t.reaches:
                memory[f"unheard.{k}"] = owed[k].clone()  # files refuse shared storage
        return owed

    def _missed(self, t: int, round_t: Round, memory: dict[str, Tensor]) -> dict[int, list[int]]:
        """The rounds in which messages of each sender were lost since one was heard."""
        none = torch.zeros(0, dtype=torch.int64)
        missed = {j: memory.pop(f"missed.{j}", none).tolist() for j in self._senders}
        for j in self._senders:
            if j not in round_t.weights:
                memory[f"missed.{j}"] = torch.tensor([*missed[j], t])
        return missed

    def _length(self, sender: int, missed: int, z: Tensor, memory: dict[str, Tensor]) -> int:
        short = self._network.compressor.message_bytes(len(z), self._wire.dtype)
        if f"copy.{sender}" in memory:
            return (missed + 1) * short
        return missed * short + len(z) * self._wire.dtype.itemsize

    def _decoded(
        self,
        sender: int,
        content: Tensor,
        missed: list[int],
        call: Call,
        z: Tensor,
        memory: dict[str, Tensor],
    ) -> Iterator[Tensor]:
        """The copies that the messages of the missed rounds and of round t make."""
        compressor, copy = self._network.compressor, memory.get(f"copy.{sender}")
        short = compressor.message_bytes(len(z), self._wire.dtype)
        for t in (*missed, call.t):
            if copy is None:
                copy, content = take(content, len(z), self._wire.dtype)
            else:
                coins = self._coins(sender, z, Call(t, call.site))
                copy, content = compressor.decode(copy, content[:short], coins), content[short:]
            yield copy

    def _coins(self, node: int, z: Tensor, call: Call) -> Coins:
        coins = Coins.of(self._seed, torch.tensor(node, device=z.device))
        return coins.at(call.t, call.site)


class LossyCompressedLinks(CompressedLinks):
    """Where messages are lost one way, totals arrive late: all of c ĥ since one was heard last.

    What has not arrived is remembered by its sender as "in_flight.<receiver>".
    """

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z + γ (c_ii ĥ_i + what arrived − ĥ_i)."""
        round_t, node = self._rounds(call.t), self._wire.node
        news = self._exchanged(call, z, memory)
        own = memory["copy"].to(z)
        mixed = own * round_t.shares.get(node, 0.0)
        for sender, copies in news.items():
            for copy in copies:
                mixed.add_(copy.to(z), alpha=round_t.shares[sender])
                memory[f"copy.{sender}"] = copy
        for k in self._receivers:
            before = memory.pop(f"in_flight.{k}", 0.0)
            if k not in round_t.reaches:
                memory[f"in_flight.{k}"] = own * round_t.gives[k] + before
        return self._moved(z, memory["copy"], mixed)
