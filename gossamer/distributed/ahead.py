"""Mixes that are under way before their step begins, while its gradient is being computed."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import torch
from torch import Tensor

from gossamer.distributed.links import Links
from gossamer.distributed.transport import Transport
from gossamer.errors import require
from gossamer.networks import LinkMemory
from gossamer.networks.channel import Call, RememberedTalk, Room


class Known(NamedTuple):
    """A mix of something that the node holds before the step: x, or a field of the state."""

    verb: str
    """ "pull" or "push"."""

    place: int
    """Of what is mixed among x and the fields of the state."""


class Mixed(NamedTuple):
    """What has become of a mix."""

    value: Tensor
    memory: dict[str, Tensor]
    bytes_sent: int


class MixUnderWay(NamedTuple):
    """A mix that is under way."""

    known: Known
    told: Tensor
    """What the messages tell of."""

    version: int
    """Of `told`, which changes when it is written in place."""

    mixed: "Future[Mixed]"


class NodeTalk(RememberedTalk):
    """The mix of step t, some of it begun before; notices what could begin before the next step.

    Args:
        links: those of the node.
        t: the step.
        memory: what the links remember.
        held: x and the fields of the state, as the step is given them.
        ahead: what has begun; None if nothing is to begin before its step.
    """

    def __init__(
        self,
        links: Links,
        t: int,
        memory: LinkMemory,
        held: Sequence[Tensor],
        ahead: "Ahead | None",
    ) -> None:
        super().__init__(links, t, memory)
        self._node_links = links
        self._held, self._ahead = held, ahead
        self.known: dict[int, Known] = {}
        self.bytes_sent = 0
        self._last: tuple[Tensor | None, list[float]] = (None, [])

    def room(self, length: int, dtype: torch.dtype) -> Room:
        """Where to write what is mixed next."""
        return self._node_links.room(Call(self._t, len(self._after)), length, dtype)

    def pull(self, z: Tensor, room: Room | None = None) -> Tensor:
        """Mix opinions, those in `room` if it is given."""
        found = self._begun("pull", z)
        return self._mixed("pull", z, room) if found is None else found

    def push(self, z: Tensor, room: Room | None = None) -> Tensor:
        """Mix totals, likewise."""
        found = self._begun("push", z)
        return self._mixed("push", z, room) if found is None else found

    def norm(self, z: Tensor) -> float | None:
        """‖z‖, if z was mixed last and its norm was found on the way."""
        mixed, squares = self._last
        known = mixed is z and squares and not math.isnan(sum(squares))
        return math.sqrt(sum(squares)) if known else None

    def _mixed(self, verb: str, z: Tensor, room: Room | None) -> Tensor:
        squares: list[float] = []
        call = self._next()._replace(room=room, squares=squares)
        mixed: Tensor = getattr(self._links, verb)(call, z, self._after[-1])
        self._last = (mixed, squares)
        return mixed

    def _begun(self, verb: str, z: Tensor) -> Tensor | None:
        """What the neighbours made of z, if it was told to them before the step."""
        if self._ahead is None:
            return None
        site = len(self._after)
        places = [place for place, held in enumerate(self._held) if held is z]
        known = Known(verb, places[0]) if places else None
        if known:
            self.known[site] = known
        mixed = self._ahead.take(site, known, z)
        if mixed is None:
            return None
        self._after.append(mixed.memory)
        self.bytes_sent += mixed.bytes_sent
        return mixed.value


class Ahead:
    """What a node mixes ahead: whatever its last step mixed of what it was given, untouched.

    In the order combine-then-adapt these are W xᵗ and W yᵗ⁻¹. Their messages travel in threads of
    their own, each site of the step in one, and nothing is stale: a step that comes with another x
    than the neighbours were told is refused. With NCCL messages are queued on a stream.

    All nodes take the same steps, so that they begin the same mixes. The mixes begun after the
    last step of a run are not used.

    Args:
        links: of the node.
        transport: of the links.
        like: a tensor like the parameters.
    """

    def __init__(self, links: Links, transport: Transport, like: Tensor) -> None:
        self._links, self._transport = links, transport
        self._stream = torch.cuda.Stream(like.device) if like.is_cuda else None
        self._threads: ThreadPoolExecutor | None = None
        self._told = torch.empty_like(like)
        self._under_way: dict[int, MixUnderWay] = {}

    def begin(
        self, t: int, known: Mapping[int, Known], held: Sequence[Tensor], memory: LinkMemory
    ) -> None:
        """Tell the neighbours what step t will mix."""
        self.forget()
        told_of = [self._told.copy_(held[0]), *held[1:]]
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())
        for site, which in known.items():
            told = told_of[which.place]
            remembered = dict(memory[site]) if site < len(memory) else {}
            job = self._job(which.verb, Call(t, site), told, remembered)
            mixed = self._submitted(job, len(known))
            self._under_way[site] = MixUnderWay(which, told, told._version, mixed)

    def take(self, site: int, known: Known | None, z: Tensor) -> Mixed | None:
        """What has become of z, if the mix of this site began before the step."""
        begun = self._under_way.get(site)
        if begun is None:
            return None
        if known != begun.known:  # the step mixes something else this time
            self.forget()
            return None
        unchanged = begun.told._version == begun.version
        same = unchanged and (begun.told is z or torch.equal(begun.told, z))
        what = "the parameters" if begun.known.place == 0 else "the state"
        need = "what they were after the last step: the neighbours were told of it"
        require(same, "overlap", f"{what} changed between two steps", need, "use overlap=False")
        mixed = begun.mixed.result()
        del self._under_way[site]
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
            mixed.value.record_stream(torch.cuda.current_stream())
        return mixed._replace(value=z) if mixed.value is begun.told else mixed

    def forget(self) -> None:
        """Wait for what is under way, and use none of it."""
        wait([begun.mixed for begun in self._under_way.values()])
        self._under_way.clear()

    def _job(
        self, verb: str, call: Call, told: Tensor, memory: dict[str, Tensor]
    ) -> Callable[[], Mixed]:
        def mixed() -> Mixed:
            with torch.cuda.stream(self._stream):
                value = getattr(self._links, verb)(call, told, memory)
            return Mixed(value, memory, self._transport.take_bytes_sent())

        return mixed

    def _submitted(self, job: Callable[[], Mixed], jobs: int) -> "Future[Mixed]":
        """NCCL needs one order of messages on all ranks, and does not block: no thread."""
        if not self._transport.fused:
            self._threads = self._threads or ThreadPoolExecutor(jobs, "gossamer-ahead")
            return self._threads.submit(job)
        done: Future[Mixed] = Future()
        done.set_result(job())
        return done


class Faster:
    """Whether steps that mix ahead take less time, found out by taking some of both.

    After `WARM_UP` steps come `SPAN` that do not and `SPAN` that do; then the faster way is kept.
    """

    WARM_UP, SPAN = 5, 20

    def __init__(self) -> None:
        self._ends: list[float] = []

    def __call__(self) -> bool:
        """At the end of a step: whether to begin the mixes of the next."""
        switch, last = self.WARM_UP + self.SPAN, self.WARM_UP + 2 * self.SPAN
        if len(self._ends) <= last:
            self._ends.append(time.perf_counter())
        if len(self._ends) <= last:
            return len(self._ends) > switch
        begin, middle, end = (self._ends[at] for at in (self.WARM_UP, switch, last))
        return end - middle <= middle - begin
