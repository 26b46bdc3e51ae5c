"""Networks whose messages are compressed, with error feedback."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.interval import SHARE, within
from gossamer.networks.chance import Coins
from gossamer.networks.channel import (
    Call,
    Channel,
    Deliveries,
    PlainChannel,
    RememberingChannel,
)
from gossamer.networks.compressors import Compressor
from gossamer.networks.drops import Drops, LossyChannel
from gossamer.networks.modified import Modified
from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True, repr=False)
class Compressed(Modified):
    """A network whose nodes send compressed updates of what their neighbours know.

    For every quantity z that a node mixes, the node and all its neighbours hold a *public copy* ĥ,
    an approximation of z. Compressed messages move all these copies alike, to Q(ĥ, z), where Q is
    the compressor. Then the node mixes, with M = R for opinions and M = C for totals:

        ĥ ← Q(ĥ, z),   z ← z + γ (M ĥ − ĥ).

    What a message leaves out stays in z − ĥ and is sent later. The sum of a total over the nodes
    does not change, whatever Q is. The first message is not compressed, so that ĥ = z. On a network
    that loses messages, a lost message is sent again with the next one, so that all neighbours end
    up with the same copy.

    Reference: Koloskova, Stich and Jaggi, "Decentralized stochastic optimization and gossip
    algorithms with compressed communication", 2019 (CHOCO).
    """

    compressor: Compressor
    gamma: float | None = None
    place: ClassVar[int] = 1

    def __post_init__(self) -> None:
        one = isinstance(self.compressor, Compressor)
        need = "a compressor with its parameters"
        require(one, "compressor", self.compressor, need, "e.g. TopK(0.05)")
        if self.gamma is not None:
            within("gamma", self.gamma, SHARE, "leave it out for one that suits the compressor")
        below = self.inner.inner if isinstance(self.inner, Drops) else self.inner
        need = "the same links in every round, since a message holds changes since the last one"
        way_out = "compress a network that does not change, e.g. ring(20)"
        require(isinstance(below, StaticNetwork), "compressed", self.inner.name, need, way_out)

    @property
    def call(self) -> str:
        """The Python call that makes this modification, e.g. "compressed(TopK(0.1))"."""
        gamma = "" if self.gamma is None else f", gamma={self.gamma}"
        return f"compressed({self.compressor!r}{gamma})"

    @property
    def departure(self) -> str:
        """Compression."""
        return "messages are compressed"

    @property
    def compresses(self) -> bool:
        """True."""
        return True

    @property
    def why_no_lam(self) -> str:
        """The reason why there is no λ (how far copies lag behind depends on what is mixed)."""
        return "the speed of averaging with compressed messages depends on what is averaged"

    def _lam(self) -> float:
        raise AssertionError  # there is none

    def gamma_for(self, dim: int) -> float:
        """γ for a quantity of `dim` numbers: `gamma` if given, otherwise the compressor's."""
        return self.compressor.gamma(dim) if self.gamma is None else self.gamma

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """A channel that holds the public copies, in the precision of messages."""
        losing = isinstance(self.inner, Drops) and self.inner.probability > 0
        mixed_in = torch.float64 if losing else dtype
        inner = self.inner.channel(seeds, mixed_in, device)
        assert isinstance(inner, PlainChannel | LossyChannel)
        coins = Coins.of(seeds, torch.arange(self.num_nodes, device=device))
        return CompressedChannel(self, inner, coins, dtype, mixed_in)


class CompressedChannel(RememberingChannel):
    """Runs that mix by the public copies of their nodes.

    Args:
        network: with compressor and γ.
        inner: what mixes the copies.
        coins: of every node and run.
        dtype: of the messages, and so of the copies.
        mixed_in: precision of `inner`.
    """

    whole_messages = False

    def __init__(
        self,
        network: Compressed,
        inner: PlainChannel | LossyChannel,
        coins: Coins,
        dtype: torch.dtype,
        mixed_in: torch.dtype,
    ) -> None:
        self._network, self._inner, self._coins = network, inner, coins
        self._dtype, self._mixed_in = dtype, mixed_in

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z + γ (R ĥ − ĥ)."""
        copy = self._public(call, z, memory)
        return self._towards(self._inner.pull(call, copy.to(self._mixed_in), memory), copy, z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """z + γ (C ĥ − ĥ)."""
        copy = self._public(call, z, memory)
        return self._towards(self._inner.split(call, copy, memory), copy, z)

    def _public(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """ĥ after this message."""
        if "copy" not in memory:
            memory["copy"] = z.to(self._dtype)
        else:
            coins = self._coins.at(call.t, call.site)
            memory["copy"] = self._network.compressor.compress(memory["copy"], z, coins)
        return memory["copy"]

    def _towards(self, mixed: Tensor, copy: Tensor, z: Tensor) -> Tensor:
        """(z − γĥ) + γ·mixed: what identity would make of it, bit for bit."""
        gamma = self._network.gamma_for(z.shape[-1])
        return torch.sub(z, copy, alpha=gamma).add_(mixed, alpha=gamma)

    def messages_sent(self, steps: range) -> Tensor:
        """What was lost is sent again."""
        return self._inner.messages(steps)[0]

    def traffic(self, steps: range, dim: int, itemsize: int) -> Tensor:
        """Short messages, those of round 0 whole; what was lost is sent again."""
        short = self._network.compressor.message_bytes(dim, self._dtype)
        messages, first = self._inner.messages(steps)
        return messages * short + first * (dim * itemsize - short)

    def deliveries(self, t: int) -> Deliveries:
        """As without compression."""
        return self._inner.deliveries(t)
