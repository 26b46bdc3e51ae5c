"""How a node that comes back, or a new one, finds its way into a run that has begun.

In the rendezvous store, for ticket k:

    newcomer  door/k         its number
    member    door/k/open    a random text: is anybody there?
    newcomer  door/k/here    the same text
    member    door/k/entry   an `Entry`, when all members have agreed on it
"""

import json
import secrets
import time
from collections.abc import Container, Sequence
from typing import Any, TypedDict, cast

from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.rendezvous import POLL_SECONDS

ANSWER_SECONDS, ANSWER_PART = 2.0, 0.2
"""How soon a newcomer must answer that it is still there, in seconds and as a part of a timeout."""

WAIT = 10
"""Timeouts that a newcomer waits: the others let it in now and then only."""


class Entry(TypedDict):
    """What a newcomer is told of the run."""

    numbers: list[int]
    """Of all ranks from now on."""

    comers: list[int]
    """Those of them that are new."""

    regroupings: int
    """How often the ranks have changed."""

    began: int
    """With how many nodes the run began."""

    words: dict[str, Any]
    """What is known of each rank, by number."""

    options: list[dict[str, Any]]
    """Hyper-parameters of every param group."""

    run: str
    """What the last words are about."""


class Door:
    """The members' side."""

    def __init__(self, store: PatientStore, timeout: float) -> None:
        self._store = store
        self._seconds = min(ANSWER_SECONDS, ANSWER_PART * timeout)
        self._done: set[int] = set()

    def waiting(self, members: Container[int], admissible: Container[int]) -> list[tuple[int, int]]:
        """(ticket, number) of all who wait outside, and answer."""
        tickets = set(range(1, self._store.add("door/tickets", 0) + 1)) - self._done
        found = {number: t for t in sorted(tickets) if (number := self._number(t)) is not None}
        asked = {t: n for n, t in found.items() if n not in members and n in admissible}
        answering = self._answering(list(asked)) if asked else set()
        for ticket in set(asked) - answering:
            self._shut(ticket)
        return [(ticket, asked[ticket]) for ticket in sorted(answering)]

    def let_in(self, ticket: int, entry: Entry) -> None:
        """Tell a newcomer what it needs to know."""
        self._store.put(f"door/{ticket}/entry", json.dumps(entry))
        self._shut(ticket)

    def _shut(self, ticket: int) -> None:
        """Let nobody come with this ticket any more."""
        self._store.put(f"door/{ticket}", "")

    def _number(self, ticket: int) -> int | None:
        """Who has this ticket; None if nobody has it any more."""
        text = self._store.look([f"door/{ticket}"])[0]
        if not text:
            self._done.add(ticket)
        return int(text) if text else None

    def _answering(self, tickets: Sequence[int]) -> set[int]:
        """Those who are there; all are asked at once."""
        question = secrets.token_hex(8)
        for ticket in tickets:
            self._store.put(f"door/{ticket}/open", question)
        here = [f"door/{ticket}/here" for ticket in tickets]
        deadline = time.monotonic() + self._seconds
        while True:
            found = zip(tickets, self._store.look(here), strict=True)
            there = {ticket for ticket, text in found if text == question}
            if len(there) == len(tickets) or time.monotonic() > deadline:
                return there
            time.sleep(POLL_SECONDS)


def knock(store: PatientStore, number: int, timeout: float) -> Entry:
    """Ask to be let in as node `number`, and wait for it."""
    deadline = time.monotonic() + WAIT * timeout
    while time.monotonic() < deadline:
        entry = _wait_outside(store, number, deadline)
        if entry is not None:
            return entry
    problem = f"rank {number}: the run has begun, and nobody let this rank in"
    way_out = "let the others call optimizer.admit() more often, or start all ranks anew"
    raise ConnectionError(f"{problem} within {WAIT * timeout:g} s; {way_out}")


def _wait_outside(store: PatientStore, number: int, deadline: float) -> Entry | None:
    """With one ticket; None if it is worth nothing, since the answer came too late."""
    ticket = store.add("door/tickets", 1)
    own, ask, here, told = (f"door/{ticket}{what}" for what in ("", "/open", "/here", "/entry"))
    store.put(own, str(number))
    answered = None
    while time.monotonic() < deadline:
        held, question, entry = store.look([own, ask, told])
        if entry is not None:
            return cast(Entry, json.loads(entry))
        if held != str(number):
            return None
        if question is not None and question != answered:
            store.put(here, question)
            answered = question
        time.sleep(POLL_SECONDS)
    store.put(own, "")
    return None
