"""A rank that comes to a run which has begun without it."""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from gossamer.distributed.company import patient_store
from gossamer.distributed.door import Answer, Entry, Question
from gossamer.distributed.launch import all_ranks_are_late, begin_anew, let_in
from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.rendezvous import POLL_SECONDS
from gossamer.distributed.survivors import Survivors, Word
from gossamer.errors import InvalidInput, refuse
from gossamer.networks import Network

WAIT = 10
"""Timeouts that a newcomer waits: the others let it in now and then only."""


class Newcomer(NamedTuple):
    """This rank, which the others have let in."""

    entry: Entry
    """What the others tell of the run."""

    survivors: Survivors
    """All who take part now."""

    words: dict[int, Word]
    """What is known of each of them, by rank."""


def come_late(
    network: Network | Callable[[int], Network],
    timeout: float,
    on_peer_failure: str,
    min_nodes: int | None,
    facts: Mapping[str, Any],
) -> Newcomer | None:
    """Wait until the others let this rank in; None if all ranks are late, and have begun anew.

    Args:
        network: of all nodes, or a function of how many there are.
        timeout: seconds that a rank may be silent.
        on_peer_failure: must be "drop"; otherwise no node can leave or join.
        min_nodes: how many it takes to go on; by default more than half of all.
        facts: what this rank must have as the others have it, whatever the network.
    """
    number, store = int(os.environ["RANK"]), patient_store(timeout)

    def survivors_of(began: int) -> Survivors:
        return Survivors(store, network, range(began), timeout, min_nodes)

    def own_facts(question: Question) -> dict[str, str]:
        return survivors_of(question["began"]).facts(facts, question["numbers"])

    if on_peer_failure == "raise":
        _await_others(number, store, timeout)
        entry = None
    else:
        entry = Outside(number, store, WAIT * timeout, own_facts).knock()
    if entry is None:
        begin_anew()
        return None
    let_in()
    survivors = survivors_of(entry["began"])
    return Newcomer(entry, survivors, survivors.enter(entry, number))


def _await_others(number: int, store: PatientStore, timeout: float) -> None:
    """Wait until all ranks are late, since nobody can let this one in."""
    deadline = time.monotonic() + timeout
    while not store.asked(all_ranks_are_late):
        if time.monotonic() > deadline:
            late = f"raise on rank {number}, without which the run has begun"
            refuse("on_peer_failure", late, '"drop"', "start all ranks anew")
        time.sleep(POLL_SECONDS)


class Outside:
    """A newcomer's side of the door.

    Args:
        number: of the node that it wants to be.
        store: where it knocks.
        limit: how many seconds it waits.
        facts: what it must have as the others have it.
    """

    def __init__(
        self,
        number: int,
        store: PatientStore,
        limit: float,
        facts: Callable[[Question], dict[str, str]],
    ) -> None:
        self._number, self._store, self._facts = number, store, facts
        self._limit, self._deadline = limit, time.monotonic() + limit

    def knock(self) -> Entry | None:
        """Ask to be let in, and wait for it; None if nobody is left who could do it."""
        while self._can_wait():
            entry = self._wait_with_ticket()
            if entry is not None:
                return entry
        if self._store.asked(all_ranks_are_late):
            return None
        problem = f"rank {self._number}: the run has begun, and nobody let this rank in"
        way_out = "let the others call optimizer.admit() more often, or start all ranks anew"
        raise ConnectionError(f"{problem} within {self._limit:g} s; {way_out}")

    def _can_wait(self) -> bool:
        return time.monotonic() < self._deadline and not self._store.asked(all_ranks_are_late)

    def _wait_with_ticket(self) -> Entry | None:
        """None if the ticket is worth nothing, since the answer came too late."""
        ticket = self._store.add("door/tickets", 1)
        own, ask, here, told = (f"door/{ticket}{what}" for what in ("", "/open", "/here", "/entry"))
        self._store.put(own, str(self._number))
        answered = None
        while self._can_wait():
            held, question, entry = self._store.look([own, ask, told])
            if entry is not None:
                return _entry(json.loads(entry))
            if held != str(self._number):
                return None
            if question is not None and question != answered:
                self._store.put(here, json.dumps(self._answer(json.loads(question))))
                answered = question
            time.sleep(POLL_SECONDS)
        self._store.put(own, "")
        return None

    def _answer(self, question: Question) -> Answer:
        """What this rank has; if it cannot be one of these nodes, that is told instead."""
        try:
            found = self._facts(question)
        except InvalidInput as reason:
            found = {"network": str(reason)}
        return Answer(token=question["token"], facts=found)


def _entry(told: dict[str, Any]) -> Entry:
    if "refused" in told:
        raise InvalidInput(told["refused"])
    return cast(Entry, told)
