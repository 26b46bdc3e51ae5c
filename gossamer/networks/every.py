"""Networks that talk now and then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.errors import whole
from gossamer.networks.channel import Call, Channel, LinkMemory, Talk
from gossamer.networks.modified import Modified


@dataclass(frozen=True, repr=False)
class Every(Modified):
    """A network whose nodes talk in steps k − 1, 2k − 1, … and mix nothing between.

    Talk number s, in step (s + 1)k − 1, is round s of the inner network. Averages and totals are
    kept by a step that mixes nothing, so that methods remain exact.
    """

    k: int
    place: ClassVar[int] = 3

    def __post_init__(self) -> None:
        whole("k", self.k, 1)

    @property
    def call(self) -> str:
        """How it is written."""
        return f"every({self.k})"

    def _lam(self) -> float:
        return float(self.inner.lam ** (1 / self.k))

    def talks_at(self, t: int) -> bool:
        """Whether the nodes talk in step t."""
        return (t + 1) % self.k == 0

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """The inner one, now and then."""
        return EveryChannel(self, self.inner.channel(seeds, dtype, device))


class EveryChannel(Channel):
    """`inner` in every k-th step."""

    def __init__(self, network: Every, inner: Channel) -> None:
        self._network, self._inner = network, inner

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The inner network's, or silence."""
        if self._network.talks_at(t):
            return self._inner.talk(t // self._network.k, memory)
        return Silence(memory)

    def bytes_sent(self, call: Call, dim: int, itemsize: int) -> Tensor:
        """Nothing between."""
        inner = Call(call.t // self._network.k, call.site)
        sent = self._inner.bytes_sent(inner, dim, itemsize)
        return sent if self._network.talks_at(call.t) else torch.zeros_like(sent)


@dataclass(frozen=True)
class Silence:
    """A step in which nobody talks: every node keeps what it has, and links what they know."""

    memory: LinkMemory

    def pull(self, z: Tensor) -> Tensor:
        """Z itself."""
        return z

    def push(self, z: Tensor) -> Tensor:
        """Z itself."""
        return z
