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
from collections.abc import Container
from typing import Any, TypedDict, cast

from gossamer.distributed.patient_store import POLL_SECONDS, PatientStore
from gossamer.distributed.secret import opened, sealed

ANSWER_SECONDS = 2.0
"""How long a newcomer may take to answer that it is still there."""

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

    def __init__(self, store: PatientStore) -> None:
        self._store = store
        self._done: set[int] = set()

    def waiting(self, members: Container[int], admissible: Container[int]) -> list[tuple[int, int]]:
        """(ticket, number) of all who wait outside, and answer."""
        found: dict[int, int] = {}
        for ticket in range(1, self._store.add("door/tickets", 0) + 1):
            number = self._number(ticket)
            if number is None or number in members or number in found:
                continue
            if number in admissible and self._answers(ticket):
                found[number] = ticket
        return [(ticket, number) for number, ticket in found.items()]

    def let_in(self, ticket: int, entry: Entry) -> None:
        """Tell a newcomer what it needs to know."""
        about = f"door/{ticket}/entry"
        self._store.put(about, sealed(about, json.dumps(entry)))

    def _number(self, ticket: int) -> int | None:
        if ticket in self._done:
            return None
        text = opened(f"door/{ticket}", self._store.look([f"door/{ticket}"])[0])
        return int(text) if text else None

    def _answers(self, ticket: int) -> bool:
        """Whether the newcomer is there; who does not answer is not asked again."""
        ask, here, question = f"door/{ticket}/open", f"door/{ticket}/here", secrets.token_hex(8)
        self._store.put(ask, sealed(ask, question))
        deadline = time.monotonic() + ANSWER_SECONDS
        self._done.add(ticket)
        while time.monotonic() < deadline:
            if opened(here, self._store.look([here])[0]) == question:
                return True
            time.sleep(POLL_SECONDS)
        return False


def knock(store: PatientStore, number: int, timeout: float) -> Entry:
    """Ask to be let in as node `number`, and wait for it."""
    ticket = store.add("door/tickets", 1)
    ask, here, told = (f"door/{ticket}/{what}" for what in ("open", "here", "entry"))
    store.put(f"door/{ticket}", sealed(f"door/{ticket}", str(number)))
    deadline = time.monotonic() + WAIT * timeout
    while time.monotonic() < deadline:
        asked, entry = store.look([ask, told])
        if (text := opened(told, entry)) is not None:
            return cast(Entry, json.loads(text))
        if (question := opened(ask, asked)) is not None:
            store.put(here, sealed(here, question))
        time.sleep(POLL_SECONDS)
    store.put(f"door/{ticket}", sealed(f"door/{ticket}", ""))
    waited = f"within {WAIT * timeout:g} s"
    problem = f"rank {number}: the run has begun, and did not let this rank in {waited}"
    way_out = "let the others call optimizer.admit() more often, or start all ranks anew"
    raise ConnectionError(f"{problem}; {way_out}")
