"""Networks that talk now and then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.errors import whole
from gossamer.networks.channel import Channel, Deliveries, LinkMemory, Talk
from gossamer.networks.modified import Modified
from gossamer.text import ordinal


@dataclass(frozen=True, repr=False)
class Every(Modified):
    """A network whose nodes communicate only in steps k − 1, 2k − 1, …

    Step (s + 1)k − 1 is round s of the inner network. In all other steps nothing is mixed. This
    changes neither averages nor totals, so methods that converge exactly to the optimum, e.g. those
    with gradient tracking, still do.
    """

    k: int
    place: ClassVar[int] = 3

    def __post_init__(self) -> None:
        whole("k", self.k, 1)

    @property
    def call(self) -> str:
        """The Python call that makes this modification, e.g. "every(5)"."""
        return f"every({self.k})"

    @property
    def departure(self) -> str:
        """Steps without messages, if there are any."""
        return f"nodes talk in every {ordinal(self.k)} step only" if self.k > 1 else ""

    def _lam(self) -> float:
        return float(self.inner.lam ** (1 / self.k))

    def talks_at(self, t: int) -> bool:
        """Whether the nodes communicate in step t."""
        return (t + 1) % self.k == 0

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """The channel of the inner network, used in every k-th step."""
        return EveryChannel(self, self.inner.channel(seeds, dtype, device))


class EveryChannel(Channel):
    """`inner` in every k-th step."""

    def __init__(self, network: Every, inner: Channel) -> None:
        self._network, self._inner = network, inner
        self.exchanges, self.whole_messages = inner.exchanges, inner.whole_messages

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The inner network's, or silence."""
        if self._network.talks_at(t):
            return self._inner.talk(t // self._network.k, memory)
        return Silence(memory)

    def messages_sent(self, steps: range) -> Tensor:
        """Nothing between talks."""
        return self._now_and_then(steps, self._inner.messages_sent)

    def traffic(self, steps: range, dim: int, itemsize: int) -> Tensor:
        """Nothing between talks."""
        return self._now_and_then(steps, lambda talks: self._inner.traffic(talks, dim, itemsize))

    def _now_and_then(self, steps: range, count: Callable[[range], Tensor]) -> Tensor:
        """What the inner network sends in its talks, and 0 between."""
        k, nodes = self._network.k, self._network.num_nodes
        talks = range(steps.start // k, steps.stop // k)
        if not talks:
            return torch.zeros(len(steps), nodes, 1, dtype=torch.int64)
        talked = count(talks)
        sent = talked.new_zeros(len(steps), *talked.shape[1:])
        sent[k - 1 - steps.start % k :: k] = talked
        return sent

    def deliveries(self, t: int) -> Deliveries:
        """Nothing between talks."""
        if self._network.talks_at(t):
            return self._inner.deliveries(t // self._network.k)
        nobody = torch.zeros(0, dtype=torch.int64)
        return Deliveries(nobody, nobody, torch.zeros(0, 1, dtype=torch.bool))


@dataclass(frozen=True)
class Silence:
    """A step in which nobody talks: every node keeps what it has, and links what they know."""

    memory: LinkMemory

    def pull(self, z: Tensor) -> Tensor:
        """z itself."""
        return z

    def push(self, z: Tensor) -> Tensor:
        """z itself."""
        return z
