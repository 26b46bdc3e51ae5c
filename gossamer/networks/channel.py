"""How stacked runs talk over a network: what the simulator asks of one at every step."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from gossamer.networks.mixer import Mixer

LinkMemory = tuple[dict[str, Tensor], ...]
"""What the links remember: for each mix of a step name → `(nodes or links, runs, dim)`."""


class Call(NamedTuple):
    """Which mix of a run: the `site`-th, counted from 0, of talk `t`."""

    t: int
    site: int


class Talk(Protocol):
    """The `mix` of one step, and what the links remember after it."""

    @property
    def memory(self) -> LinkMemory: ...  # noqa: D102

    def pull(self, z: Tensor) -> Tensor: ...  # noqa: D102

    def push(self, z: Tensor) -> Tensor: ...  # noqa: D102


class Channel(ABC):
    """The network as stacked runs use it; tensors are `(nodes, runs, dim)`."""

    @abstractmethod
    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The mix of step t, after links that remember `memory`."""

    @abstractmethod
    def bytes_sent(self, call: Call, dim: int, itemsize: int) -> Tensor:
        """What each node sends at a call with `dim` numbers: `(nodes, runs)`, or `(nodes, 1)`."""


class PlainChannel(Channel):
    """Rounds that repeat, each one product.

    Args:
        mixers: of rounds 0, …, τ − 1.
        out_degrees: how many others each node sends to, `(τ, n)`.
    """

    def __init__(self, mixers: Sequence[Mixer], out_degrees: Tensor) -> None:
        self._mixers, self._out_degrees = mixers, out_degrees

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The mixer of the round, which remembers nothing."""
        return self._mixers[t % len(self._mixers)]

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """R_t z."""
        return self._mixers[call.t % len(self._mixers)].pull(z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """C_t z."""
        return self._mixers[call.t % len(self._mixers)].push(z)

    def split(self, call: Call, message: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """C_t q of messages q, in float64."""
        return self._mixers[call.t % len(self._mixers)].split(message)

    def bytes_sent(self, call: Call, dim: int, itemsize: int) -> Tensor:
        """All numbers to every out-neighbour."""
        return self._out_degrees[call.t % len(self._mixers), :, None] * (dim * itemsize)


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

    def __init__(self, channel: RememberingChannel, t: int, memory: LinkMemory) -> None:
        self._channel, self._t, self._before = channel, t, memory
        self._after: list[dict[str, Tensor]] = []

    @property
    def memory(self) -> LinkMemory:
        """After the calls so far."""
        return tuple(self._after)

    def pull(self, z: Tensor) -> Tensor:
        """Mix opinions."""
        return self._channel.pull(self._next(), z, self._after[-1])

    def push(self, z: Tensor) -> Tensor:
        """Mix totals."""
        return self._channel.push(self._next(), z, self._after[-1])

    def _next(self) -> Call:
        site = len(self._after)
        self._after.append(dict(self._before[site]) if site < len(self._before) else {})
        return Call(self._t, site)
