"""How stacked runs talk over a network: what the simulator asks of one at every step."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch
from torch import Tensor

from gossamer.networks.mixer import Mixer

if TYPE_CHECKING:
    from gossamer.networks.periodic import Periodic

LinkMemory = tuple[dict[str, Tensor], ...]
"""What the links remember: for each mix of a step name → `(nodes or links, runs, dim)`."""


class Room(NamedTuple):
    """Memory of the links for what is mixed next; they may write the result there."""

    made: Tensor
    """For what is mixed."""

    said: Tensor | None = None
    """For what messages say of it, in less precision, if that shall be written at once, too."""

    into: Tensor | None = None
    """Memory of another that the result may take when nothing can fail any more: all messages have
    come, and the result is finite."""


class Call(NamedTuple):
    """Which mix of a run: the `site`-th, counted from 0, of talk `t`."""

    t: int
    site: int
    room: Room | None = None
    """Where what is mixed is written, if in memory of the links."""

    squares: list[float] | None = None
    """Where ‖·‖² of the result is left, in parts, NaN for one of which it is not known."""


class Deliveries(NamedTuple):
    """Which links bring something in a step."""

    receiver: Tensor
    """Of each link, `(E,)`."""

    sender: Tensor
    """Of each link, `(E,)`."""

    arrived: Tensor
    """Whether it brings something, boolean `(E, runs)`, or `(E, 1)`."""


class Talk(Protocol):
    """The `mix` of one step, and what the links remember after it."""

    @property
    def memory(self) -> LinkMemory: ...  # noqa: D102

    def pull(self, z: Tensor) -> Tensor: ...  # noqa: D102

    def push(self, z: Tensor) -> Tensor: ...  # noqa: D102


class Remembers(Protocol):
    """Links that remember: the mix of a call writes what they do into the memory of the call.

    Entries of `memory` are replaced, never written in place.
    """

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor: ...  # noqa: D102

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor: ...  # noqa: D102


class Channel(ABC):
    """The network as stacked runs use it; tensors are `(nodes, runs, dim)`."""

    exchanges: int = 1
    """How many times, one after the other, nodes exchange messages in a mix."""

    whole_messages: bool = True
    """Whether every message carries all numbers of a mix."""

    period: int | None = None
    """After how many steps all repeats, where nothing is drawn, lost or remembered."""

    @abstractmethod
    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The mix of step t, after links that remember `memory`."""

    @abstractmethod
    def messages_sent(self, steps: range) -> Tensor:
        """How many messages each node sends in a mix, lost ones among them, int64 on the CPU.

        Args:
            steps: one after the other, and at least one.

        Returns:
            `(steps, nodes, runs)`, or `(steps, nodes, 1)` where all runs send alike.
        """

    def traffic(self, steps: range, dim: int, itemsize: int) -> Tensor:
        """Bytes that each node sends in a mix of `dim` numbers, likewise.

        All numbers are in every message, each of `itemsize` bytes.
        """
        return self.messages_sent(steps) * (dim * itemsize)

    def bytes_sent(self, call: Call, dim: int, itemsize: int) -> Tensor:
        """What each node sends at one call: `(nodes, runs)`, or `(nodes, 1)`."""
        return self.traffic(range(call.t, call.t + 1), dim, itemsize)[0]

    @abstractmethod
    def deliveries(self, t: int) -> Deliveries:
        """Which links bring something in an exchange of step t."""


class PlainChannel(Channel):
    """Rounds that repeat, each one product.

    Args:
        mixers: of rounds 0, …, τ − 1.
        network: whose rounds they are.
    """

    def __init__(self, mixers: Sequence[Mixer], network: "Periodic") -> None:
        self._mixers, self._network, self.period = mixers, network, len(mixers)

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The mixer of the round, which remembers nothing."""
        return self._mixers[t % len(self._mixers)]

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """R_t z."""
        return self._mixers[call.t % len(self._mixers)].pull(z)

    def split(self, call: Call, message: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """C_t q of messages q, in float64."""
        return self._mixers[call.t % len(self._mixers)].split(message)

    def messages_sent(self, steps: range) -> Tensor:
        """One to every out-neighbour, `(steps, nodes, 1)`."""
        rounds = torch.arange(steps.start, steps.stop)
        degrees = torch.stack([one.out_degrees for one in self._network.rounds])
        return degrees[rounds % len(degrees), :, None]

    def messages(self, steps: range) -> tuple[Tensor, Tensor]:
        """How many each node sends, and how many of them in round 0, `(steps, nodes, 1)`."""
        rounds, sent = torch.arange(steps.start, steps.stop), self.messages_sent(steps)
        return sent, sent * (rounds == 0)[:, None, None]

    def deliveries(self, t: int) -> Deliveries:
        """All links of the round."""
        edges = self._network.edges
        return Deliveries(edges.receiver, edges.sender, edges.active(t)[:, None])


class RememberingChannel(Channel):
    """Links that remember: `pull` and `push` write what they do into the memory of their call."""

    @abstractmethod
    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Mix opinions; entries of `memory` are replaced, never written in place."""

    @abstractmethod
    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Mix totals, likewise."""

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The mix of step t."""
        return RememberedTalk(self, t, memory)


class RememberedTalk:
    """The mix of step t: counts its calls, and hands each the memory of its links."""

    def __init__(self, links: Remembers, t: int, memory: LinkMemory) -> None:
        self._links, self._t, self._before = links, t, memory
        self._after: list[dict[str, Tensor]] = []

    @property
    def memory(self) -> LinkMemory:
        """After the calls so far."""
        return tuple(self._after)

    def pull(self, z: Tensor) -> Tensor:
        """Mix opinions."""
        return self._links.pull(self._next(), z, self._after[-1])

    def push(self, z: Tensor) -> Tensor:
        """Mix totals."""
        return self._links.push(self._next(), z, self._after[-1])

    def _next(self) -> Call:
        site = len(self._after)
        self._after.append(dict(self._before[site]) if site < len(self._before) else {})
        return Call(self._t, site)
