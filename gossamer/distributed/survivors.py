"""Who is left of the ranks, and going on with them."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypedDict, cast

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore

from gossamer.distributed.agreement import about_network, in_words
from gossamer.distributed.door import AtTheDoor, Door, Entry
from gossamer.distributed.failures import PeerFailure, disconnect
from gossamer.distributed.patient_store import PatientStore, StoreLost, in_time
from gossamer.distributed.rendezvous import POLL_SECONDS
from gossamer.distributed.secret import require_secret
from gossamer.distributed.standstill import TRIES, Standstill
from gossamer.distributed.tree import linked
from gossamer.errors import InvalidInput, first_line, require
from gossamer.networks import Network, StaticNetwork
from gossamer.networks.modified import layers
from gossamer.user_line import warn_user

LARGEST = 1 << 20
"""Of the numbers that nodes may have."""

GRACE = 0.1
"""The last part of a timeout, in which a silent rank can still say that it lives."""


OUT_OF_STEP = (
    f"the ranks have failed {TRIES} times at the same place: they seem to wait for different "
    "things; see that all call step(), mean(), save(), admit(), … equally often and in the same "
    "order"
)


class Word(TypedDict):
    """What a rank posts of itself when an exchange has failed."""

    step: int
    """Its next step."""

    acts: int
    """How many collectives it has come to the end of."""

    closed: list[int]
    """Ranks that had closed their connections to it."""

    silent: list[int]
    """Ranks that it has waited for too long."""

    comers: list[tuple[int, int]]
    """(ticket, number) of newcomers that it knows of."""


class Survivors:
    """The ranks that are left, by the number that each had when the run began.

    A rank whose exchange fails posts its `Word` in the rendezvous store and then closes its
    connections, so that the failure reaches every rank. Who is found closed but has posted nothing
    is dead; so is, after a grace, who has been silent for the timeout, and, after one more timeout,
    whoever has not posted. The first proposal to enter the store decides for all. The survivors
    form a new default process group, ranks renumbered in order, on the network of their number.

    They go on at the largest step any of them had reached. One that lags behind sits out its calls
    of `step()` until then, so that all still take their last step together.

    The store must outlive the dead rank: see docs/distributed.md for how to start one. Without it,
    or with fewer than `min_nodes` left, every rank raises. So it does at a `Standstill`.

    Args:
        store: where they agree.
        network: of all nodes, or a function of how many there are.
        numbers: rank → number.
        timeout: seconds that a rank may be silent.
        min_nodes: how many it takes to go on; by default more than half of all.
    """

    def __init__(
        self,
        store: PatientStore,
        network: Network | Callable[[int], Network],
        numbers: Sequence[int],
        timeout: float,
        min_nodes: int | None,
    ) -> None:
        self.numbers, self._network, self._timeout = list(numbers), network, timeout
        if isinstance(network, Network):
            require_removable(network)
        self.store, self._regroupings = store, 0
        self._admitted: set[int] = set()
        self._standstill = Standstill()
        self._greeting: Mapping[str, Any] = {}
        self._began = len(self.numbers)
        self._door = Door(store, timeout, self._began)
        self.min_nodes = enough_nodes(min_nodes, self._began)

    def enter(self, entry: Entry, number: int) -> dict[int, Word]:
        """Be one of those whom the others let in; returns what is known of all, by rank."""
        self.numbers, self._regroupings = entry["numbers"], entry["regroupings"]
        words = {int(number): word for number, word in entry["words"].items()}
        return self._form(number, words)

    def waiting(self, facts: Mapping[str, Any]) -> AtTheDoor:
        """The nodes that wait to be let in, and why some cannot.

        Args:
            facts: what newcomers must have as this rank has it, whatever the network.
        """
        nodes = range(self._network.num_nodes if isinstance(self._network, Network) else LARGEST)
        with suppress(StoreLost):
            return self._door.waiting(self.numbers, nodes, partial(self.facts, facts))
        return AtTheDoor([], [])

    def facts(self, facts: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, str]:
        """These facts, and what else all of these nodes must have alike."""
        network = self._network_of(numbers)
        return in_words({**facts, **about_network(network), "min_nodes": self.min_nodes})

    def fresh(self, comers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those whom a regrouping has not let in yet."""
        return [(ticket, number) for ticket, number in comers if ticket not in self._admitted]

    @property
    def patience(self) -> float:
        """Seconds to wait for a message: what is left of the timeout is for the grace."""
        return (1 - GRACE) * self._timeout

    def network(self) -> Network:
        """The network of those who are left, renumbered."""
        return self._network_of(self.numbers)

    def _network_of(self, numbers: Sequence[int]) -> Network:
        if not isinstance(self._network, Network):
            return _made(self._network, len(numbers))
        network = self._network
        for node in reversed(range(network.num_nodes)):
            network = network if node in numbers else network.without(node)
        return network

    def regroup(
        self,
        group: dist.ProcessGroup | None,
        failure: PeerFailure,
        step: int,
        acts: int,
        greeting: Mapping[str, Any],
        comers: Sequence[tuple[int, int]] = (),
    ) -> dict[int, Word]:
        """Leave the group and form one of who is left and who has come; what they said, by rank.

        Args:
            group: the group to leave; None for all.
            failure: why.
            step: the next one of this rank.
            acts: how many collectives it has come to the end of.
            greeting: what newcomers are told besides.
            comers: newcomers that it knows of, as (ticket, number).
        """
        self._regroupings += 1
        self._greeting = greeting
        before, me = self.numbers, self.numbers[failure.rank]
        word = Word(step=step, acts=acts, closed=[], silent=[], comers=list(comers))
        try:
            self._post(me, word)
            closed = {before[rank] for rank in disconnect(group, failure)}
            silent = {before[rank] for rank in failure.silent(len(before))}
            self._post(me, {**word, "closed": sorted(closed), "silent": sorted(silent)})
            words = self._decide()
            words = self._go_on_with(words, me, failure.numbered(before))
        except StoreLost as reason:
            disconnect(group, failure)
            raise _gave_up(failure.numbered(before), str(reason)) from reason
        gone, new = sorted(set(before) - set(words)), sorted(set(words) - set(before))
        changes = [f"with rank(s) {new}"] * bool(new) + [f"without rank(s) {gone}"] * bool(gone)
        changes = changes or ["over new connections"]
        warn_user(f"step {step}: going on {' and '.join(changes)}, on {self.network()}")
        return self._form(me, words)

    def _form(self, me: int, words: Mapping[int, Word]) -> dict[int, Word]:
        """Form the group, or that of who is left if someone dies meanwhile; what they said."""
        start = time.monotonic()
        try:
            self._form_group(me)
            return {self.numbers.index(number): word for number, word in words.items()}
        except (RuntimeError, OSError) as error:
            late = "timed out: " if time.monotonic() - start > self.patience else ""
            reason = f"{late}{first_line(error)}"
            step, acts = words[me]["step"], words[me]["acts"]
            failure = PeerFailure(self.numbers.index(me), [], step, reason)
            return self.regroup(None, failure, step, acts, self._greeting)

    def _post(self, number: int, word: Word) -> None:
        self.store.put(self._about(number), json.dumps(word))

    def _decide(self) -> dict[int, Word]:
        """Number → word of every survivor, the same answer on all."""
        words: dict[int, Word] = {}
        start, about = time.monotonic(), self._about("decision")
        while not self.store.has(about):
            closed, silent = _named(words, "closed"), _named(words, "silent")
            words |= self._words()  # posted before connections were closed
            waited = time.monotonic() - start
            dead = closed | (silent if waited > GRACE * self._timeout else set())
            if set(self.numbers) <= dead | set(words) or waited > self._timeout:
                self.store.first(about, json.dumps(words))
                break
            time.sleep(POLL_SECONDS)
        told = self.store.look([about])[0]
        if told is None:
            raise StoreLost("what the store says of the survivors was not written by one of them")
        return {int(number): word for number, word in json.loads(told).items()}

    def _words(self) -> dict[int, Word]:
        found = self.store.look([self._about(number) for number in self.numbers])
        told = zip(self.numbers, found, strict=True)
        return {number: json.loads(text) for number, text in told if text}

    def _about(self, what: object) -> str:
        return f"survivors_{self._regroupings}/{what}"

    def _go_on_with(
        self, words: Mapping[int, Word], me: int, failure: PeerFailure
    ) -> dict[int, Word]:
        """Be those who are left and who has come, if they can go on; what is known of each."""
        if me not in words:
            raise _gave_up(failure, "this rank was silent too long, the others go on without it")
        gone = sorted(set(self.numbers) - set(words))
        if len(words) < self.min_nodes:
            few = f"{len(words)} of them left, fewer than min_nodes={self.min_nodes}"
            raise _gave_up(failure, f"cannot go on without {gone}: {few}")
        done = {number: (word["step"], word["acts"]) for number, word in words.items()}
        if self._standstill.lasts(done):
            raise _gave_up(failure, OUT_OF_STEP)
        tickets = {number: ticket for word in words.values() for ticket, number in word["comers"]}
        everyone = {**words, **dict.fromkeys(tickets, _newcomer(words.values()))}
        self.numbers = sorted(everyone)
        try:
            self.network()
        except InvalidInput as reason:
            raise _gave_up(failure, f"cannot go on without {gone}: {reason}") from reason
        self._admitted |= set(tickets.values())
        if tickets:
            self._standstill = Standstill()  # newcomers do not know what was before
        if me == min(words):
            self._let_in(tickets, everyone)
        return everyone

    def _let_in(self, tickets: Mapping[int, int], words: Mapping[int, Word]) -> None:
        facts: dict[str, Any] = {"numbers": self.numbers, "comers": sorted(tickets)}
        facts |= {"words": words, "regroupings": self._regroupings, "began": self._began}
        for ticket in tickets.values():
            self._door.let_in(ticket, cast(Entry, {**facts, **self._greeting}))

    def _form_group(self, me: int) -> None:
        """A new default group, within the timeout even if the store is cut off meanwhile."""
        store = PrefixStore(self._about("group"), self.store.store)
        limit = timedelta(seconds=self.patience)
        rank, size = self.numbers.index(me), len(self.numbers)
        form = partial(dist.init_process_group, "gloo", None, limit, size, rank, store)
        in_time(form, self._timeout)
        require_secret(dist.group.WORLD, self._timeout, linked(self.network(), rank))


def _made(network: Callable[[int], Network], nodes: int) -> Network:
    """What a function makes for so many nodes; whatever it raises, it has no such network."""
    try:
        return network(nodes)
    except InvalidInput:
        raise
    except Exception as reason:
        why = f"{type(reason).__name__}: {first_line(reason)}"
        raise InvalidInput(f"network: the function makes none of {nodes} nodes ({why})") from reason


def enough_nodes(min_nodes: int | None, nodes: int) -> int:
    """How many of this many nodes it takes to go on; by default more than half.

    >>> enough_nodes(None, 4), enough_nodes(2, 4)
    (3, 2)
    """
    least = nodes // 2 + 1 if min_nodes is None else min_nodes
    sound = 2 <= least <= nodes or least == nodes == 1
    require(sound, "min_nodes", min_nodes, f"an integer in [2, {nodes}]")
    return least


def require_drop(min_nodes: int | None, on_peer_failure: str) -> None:
    """Refuse a number that nothing would ask for."""
    found = f"{min_nodes} with on_peer_failure {on_peer_failure}"
    asked_for = min_nodes is None or on_peer_failure == "drop"
    require(asked_for, "min_nodes", found, "on_peer_failure drop; with raise no node goes on")


def _newcomer(words: Collection[Word]) -> Word:
    """What is known of a newcomer: it lacks the last thing that some of the others did together."""
    step, acts = max(word["step"] for word in words), max(word["acts"] for word in words)
    return Word(step=step, acts=acts - 1, closed=[], silent=[], comers=[])


def _named(words: Mapping[int, Word], how: str) -> set[int]:
    return {number for word in words.values() for number in word[how]}  # type: ignore[literal-required]


def require_removable(network: Network) -> None:
    """Refuse a network from which no node can be removed."""
    *_, links = layers(network)
    steady = isinstance(links, StaticNetwork) and links.symmetric
    way_out = 'use on_peer_failure="raise", or a function of the number of nodes, e.g. gs.ring'
    require(steady, "network", network.name, 'static with W = Wᵀ to be able to "drop"', way_out)


def _gave_up(failure: PeerFailure, reason: str) -> PeerFailure:
    return PeerFailure(failure.rank, failure.edges, failure.step, f"{failure.reason}; {reason}")
