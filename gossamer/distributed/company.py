"""All nodes of a run, as one of them sees them: who they are, and what they do together."""

import gc
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, ref

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import Store

from gossamer.distributed.agreement import differences, in_words, require_agreement
from gossamer.distributed.by_store import ByStore
from gossamer.distributed.collectives import (
    ByTorch,
    connects_on_use,
    rank_in,
    size_of,
    values_of,
)
from gossamer.distributed.ends import Ends
from gossamer.distributed.failures import Diverged, PeerFailure, disconnect
from gossamer.distributed.inside import Crew
from gossamer.distributed.lanes import Lanes
from gossamer.distributed.last_words import PATIENCE, LastWords
from gossamer.distributed.launch import rendezvous_store
from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.secret import require_secret
from gossamer.distributed.survivors import Survivors, Word
from gossamer.distributed.together import Together
from gossamer.distributed.transport import uses_nccl
from gossamer.distributed.tree import Tree, linked, place_in_tree
from gossamer.errors import require
from gossamer.networks import Network


class Company:
    """The nodes of a run, by rank, and their collectives.

    What they do together comes to the same end on all, however many of them die on the way. Where
    a failure does not end the run, those who are left are the `survivors`; they go on as another
    process group, on another network.

    Args:
        interrupted: is told why a collective failed, and goes on without the dead or raises.
        network: of the nodes.
        timeout: seconds that a node may be silent.
        group: the processes that take part; None for all that were launched together.
        crew: the processes of this node.
        survivors: who is left; None where a failure ends the run.

    >>> from gossamer.networks import ring
    >>> alone = Company(interrupted=print, network=ring(1), timeout=5.0)
    >>> alone.rank, alone.size, alone.gather(lambda: "here"), alone.average(torch.tensor([2.0]))
    (0, 1, ['here'], tensor([2.]))
    """

    def __init__(
        self,
        interrupted: Callable[[str], None],
        network: Network,
        timeout: float,
        group: dist.ProcessGroup | None = None,
        crew: Crew | None = None,
        survivors: Survivors | None = None,
    ) -> None:
        self._group, self._timeout, self.network = group, timeout, network
        self._take_place()
        self.crew, self.survivors = crew or Crew(), survivors
        if survivors is not None:
            _require_only_one()
            _dropping[self] = _world()
        self.together = Together(interrupted, keeps=survivors is not None)
        self.last_words: LastWords | None = None
        self.same_network = False
        """Whether all are known to have the same one."""
        self.device = torch.device("cpu")
        """Of what they send each other."""
        self.lane: int | None = None
        """Of their messages, which no other company of these processes has."""

    # ------------------------------------------------------------------ who they are

    @property
    def group(self) -> dist.ProcessGroup | None:
        """The process group that connects the nodes; None for a process on its own."""
        return self._group or all_processes()

    @property
    def numbers(self) -> Sequence[int]:
        """By rank, the number that each had when the run began."""
        return self.survivors.numbers if self.survivors else range(self.size)

    @property
    def number(self) -> int:
        """This one's number when the run began, if others have been dropped since."""
        return self.survivors.numbers[self.rank] if self.survivors else self.rank

    @property
    def uses_nccl(self) -> bool:
        """Whether they talk by NCCL."""
        return uses_nccl(self.group, self.device)

    @property
    def patience(self) -> float:
        """Seconds to wait for others."""
        return self.survivors.patience if self.survivors else self._timeout

    @property
    def store(self) -> PatientStore:
        """The store of this launch, asked for no longer than others are waited for."""
        return self.survivors.store if self.survivors else patient_store(self._timeout)

    # ------------------------------------------------------------------ what they do together

    def require_running(self) -> None:
        """Refuse what all do together, where this process has left them and would be alone."""
        here = not self._ended and self._joined == _reference(self.group)
        why = self._ended or "its process group was destroyed"
        found, need = f"one whose run has ended ({why})", "one that is connected to the other ranks"
        way_out = "start all ranks anew, and resume from a checkpoint"
        require(here or self.size == 1, "optimizer", found, need, way_out)

    def gather(self, say: Callable[[], Any]) -> list[Any]:
        """What `say()` returns on every process, by node and by process of the node, as JSON."""

        def gathered() -> Tensor:
            nodes = self._asked(self.crew.gather(say()))
            said = [each for node in nodes for each in node]
            return torch.frombuffer(bytearray(json.dumps(said).encode()), dtype=torch.uint8)

        return list(json.loads(bytes(self._do(gathered, torch.uint8).tolist())))

    def agree(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        """Refuse to go on unless all say the same; find a lane and a name, if there are none yet.

        The lane is that of their messages, the name that under which they hear why the run ends.
        Processes may be in several companies, whose messages must not be taken for each other's,
        and some may have been in more of them than others.
        """
        run = self.run or f"last_words_{secrets.token_hex(8)}"

        def say() -> dict[str, Any]:
            return {"lanes": _lanes.offer(self), "run": run, "facts": in_words(facts())}

        said = self.gather(say)
        require_agreement([each["facts"] for each in said])
        self.lane = _lanes.take(self, [each["lanes"] for each in said])
        if self.group:
            self.hear_of(said[0]["run"])
        self.same_network = True

    def differences(self, facts: Callable[[], Mapping[str, Any]]) -> str:
        """Which facts differ between them, in words; nothing if none do."""
        return differences(self.gather(lambda: in_words(facts())))

    def average(self, z: Tensor, comers: Sequence[int] = ()) -> Tensor:
        """The average of `z` over all but newcomers."""

        def averaged() -> Tensor:
            members = self.members(comers)
            own = z.clone() if self.rank in members else torch.zeros_like(z)
            return self._everyone.total(own) / len(members)

        return self._do(averaged, z.dtype)

    @torch.no_grad()
    def start_equal(self, tensors: Sequence[Tensor], comers: Sequence[int] = ()) -> None:
        """Give `tensors` the values they have on the first rank that is no newcomer."""
        for tensor in tensors:
            act = lambda tensor=tensor: self._values_of(self.members(comers)[0], tensor)  # noqa: E731
            tensor.copy_(self._do(act, tensor.dtype).view(tensor.shape))

    def members(self, comers: Sequence[int]) -> list[int]:
        """The ranks that are no newcomers."""
        return [rank for rank, number in enumerate(self.numbers) if number not in comers]

    def hand_over(self, words: Mapping[int, Word]) -> None:
        """Give what they did together last to those who lack it."""
        self.together.hand_over(words, self._values_of, self.device)

    def _do(self, act: Callable[[], Tensor], dtype: torch.dtype) -> Tensor:
        self.require_running()
        try:
            return self.together.do(act, dtype)
        except KeyboardInterrupt:
            self.end("a collective was broken off by KeyboardInterrupt")
            raise

    @property
    def _everyone(self) -> ByTorch | Tree:
        if self.group is None or self.uses_nccl or not connects_on_use():
            return ByTorch(self.group, self.patience)
        return Tree(place_in_tree(self.network, self.rank), self.rank, self.group, self.patience)

    def _asked(self, value: Any) -> list[Any]:
        """What all nodes say; not along links before they know that they have the same ones."""
        everyone = self._everyone
        if isinstance(everyone, ByTorch) or self.same_network:
            return everyone.gather(value)
        assert self.group is not None
        own = dist.distributed_c10d._get_process_group_store(self.group)
        return ByStore(self.group, patient_store(self._timeout, own), self.patience).gather(value)

    def _values_of(self, rank: int, tensor: Tensor) -> Tensor:
        return values_of(self.rank == rank, tensor, self._everyone.total)

    # ------------------------------------------------------------------ how they begin and end

    def _take_place(self) -> None:
        """Know of the group what is asked for when it is no more."""
        group, self._ended = self.group, ""
        self._joined = _reference(group)
        self.rank, self.size = rank_in(group), size_of(group)

    @property
    def meets_by_store(self) -> bool:
        """Whether they do not know yet who is linked to whom, and must ask the store."""
        return isinstance(self._everyone, Tree)

    def require_secret(self) -> None:
        """Refuse strangers, where there is a secret."""
        require_secret(self.group, self._timeout, linked(self.network, self.rank))
        require_secret(self.crew.group, self._timeout, range(self.crew.size))

    @property
    def run(self) -> str:
        """The name under which they hear why it ends; empty if it has none."""
        return self.last_words.about if self.last_words else ""

    def hear_of(self, run: str) -> None:
        """Hear why this run ends."""
        self.last_words = LastWords(self.store, run)

    def ends(self) -> Ends | None:
        """Where they tell each other that they have come to the end of their data."""
        return Ends(self.store, f"{self.run}/ends_{self.together.acts}") if self.run else None

    def regroup(
        self,
        failure: PeerFailure,
        step: int,
        greeting: Mapping[str, Any],
        comers: Sequence[tuple[int, int]],
    ) -> dict[int, Word]:
        """Go on with the survivors and `comers`, or end the run; what all of them said, by rank."""
        self.end(str(failure))
        group, self._group = self._group, None
        told = self.last_words.heard() if self.last_words else None
        if told or self.survivors is None:
            disconnect(group, failure)
            if told:
                self._end(told)
            raise failure
        own = (step, self.together.acts, greeting, comers)
        words = self.survivors.regroup(group, failure, *own)
        self.network, _dropping[self] = self.survivors.network(), _world()
        self._take_place()
        return words

    def end(self, why: str) -> None:
        """Let nothing be done together any more."""
        self._ended = why

    def diverge(self, words: str, own: bool) -> NoReturn:
        """End the run on all ranks; one that has only heard of it lets another speak first."""
        if self.last_words:
            words = self.last_words.say(words, at_once=own)
        if self.group:
            group, self._group = self._group, None
            disconnect(group, RuntimeError())
        self._end(words)

    def _end(self, words: str) -> NoReturn:
        """Raise what all ranks raise."""
        self.end(words)
        if self.last_words:
            self.last_words.await_others(self.network.num_nodes * self.crew.size)
        raise Diverged(words)


_lanes = Lanes()
"""Those of this process's companies."""

_dropping: WeakKeyDictionary[Company, ref[dist.ProcessGroup]] = WeakKeyDictionary()
"""Those that go on without the dead, and the processes of which they do; `leave` must end these."""


def _world() -> ref[dist.ProcessGroup]:
    processes = all_processes()
    assert processes is not None
    return ref(processes)


def _reference(group: dist.ProcessGroup | None) -> ref[dist.ProcessGroup] | None:
    """One that does not keep its connections open."""
    return ref(group) if group else None


def _require_only_one() -> None:
    """Refuse another company that would regroup the same processes for itself."""

    def others() -> bool:
        return any(processes() is all_processes() for processes in _dropping.values())

    if others():
        gc.collect()
    found = 'a second optimizer with "drop" in this process'
    way_out = "give one optimizer all parameters, in several param groups"
    require(not others(), "on_peer_failure", found, 'one with "drop", or "raise"', way_out)


def all_processes() -> dist.ProcessGroup | None:
    """All processes that were launched together; None for one on its own."""
    return dist.group.WORLD if dist.is_initialized() else None


def patient_store(timeout: float, store: Store | None = None) -> PatientStore:
    """A store, by default that of this launch, asked for no longer than others are waited for."""
    return PatientStore(rendezvous_store() if store is None else store, min(PATIENCE, timeout))
