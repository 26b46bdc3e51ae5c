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
    """Identifies a mix of a run: the mix with number `site` (counted from 0) in round `t`."""

    t: int
    """Round of the network."""

    site: int
    """Number of the mix within the round, counted from 0."""

    room: Room | None = None
    """Where the links keep the quantity to be mixed; None if the caller keeps it."""

    squares: list[float] | None = None
    """If given, ‖result‖² is appended to this list, in one or more parts; NaN if not known."""


class Deliveries(NamedTuple):
    """Which links deliver a message in a step."""

    receiver: Tensor
    """Of each link, `(E,)`."""

    sender: Tensor
    """Of each link, `(E,)`."""

    arrived: Tensor
    """Whether it delivers a message, boolean `(E, runs)`, or `(E, 1)`."""


class Talk(Protocol):
    """The communication of one step; in the code of methods it is called `mix`.

    `pull(z)` mixes opinions and `push(z)` mixes totals; `memory` is what the links remember after
    these calls.
    """

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
    """The form in which a stack of runs uses a network in the simulator.

    Tensors have the shape `(nodes, runs, dim)`.
    """

    exchanges: int = 1
    """How many times in a row the nodes exchange messages in one mix."""

    whole_messages: bool = True
    """Whether every message contains all numbers of the quantity that is mixed."""

    period: int | None = None
    """Number of steps after which communication repeats exactly; None if it may never repeat."""

    @abstractmethod
    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The communication of step t, where `memory` is what the links remember from before."""

    @abstractmethod
    def messages_sent(self, steps: range) -> Tensor:
        """The number of messages that each node sends in a mix, including lost ones.

        Args:
            steps: consecutive steps, at least one.

        Returns:
            int64 on the CPU, `(steps, nodes, runs)`, or `(steps, nodes, 1)` if all runs send the
            same number.
        """

    def traffic(self, steps: range, dim: int, itemsize: int) -> Tensor:
        """The bytes that each node sends in a mix of `dim` numbers, shaped like `messages_sent`.

        Here every message contains all numbers, with `itemsize` bytes each.
        """
        return self.messages_sent(steps) * (dim * itemsize)

    def bytes_sent(self, call: Call, dim: int, itemsize: int) -> Tensor:
        """The number of bytes that each node sends in one mix: `(nodes, runs)`, or `(nodes, 1)`."""
        return self.traffic(range(call.t, call.t + 1), dim, itemsize)[0]

    @abstractmethod
    def deliveries(self, t: int) -> Deliveries:
        """Which links deliver a message in an exchange of step t."""


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
        """After the calls so far; where a step makes fewer calls than before, the rest stays."""
        return (*self._after, *self._before[len(self._after) :])

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
