"""How a node that comes back, or a new one, finds its way into a run that has begun.

In the rendezvous store, for ticket k:

    newcomer  door/k         its number
    member    door/k/open    a `Question`: is anybody there, and who?
    newcomer  door/k/here    an `Answer`
    member    door/k/entry   an `Entry`, when all members have agreed on it, or a `Refusal`
"""

import json
import secrets
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, cast

from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.rendezvous import POLL_SECONDS
from gossamer.errors import InvalidInput

ANSWER_SECONDS, ANSWER_PART = 2.0, 0.2
"""How soon a newcomer must answer that it is still there, in seconds and as a part of a timeout."""


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


class Question(TypedDict):
    """What a newcomer is asked."""

    token: str
    """A random text, which the answer repeats."""

    numbers: list[int]
    """Of all ranks if those who wait come in."""

    began: int
    """With how many nodes the run began."""


class Answer(TypedDict):
    """What a newcomer says."""

    token: str
    facts: dict[str, str]
    """What all ranks must have alike."""


class Refusal(TypedDict):
    """What a newcomer is told that does not fit."""

    refused: str


class AtTheDoor(NamedTuple):
    """Who comes in, and what is told of those who cannot."""

    comers: list[tuple[int, int]]
    """(ticket, number) of each."""

    refused: list[str]


FactsOf = Callable[[Sequence[int]], dict[str, str]]
"""From the numbers of all nodes to what these must have alike; raises `InvalidInput` where they
cannot be a network."""


class Door:
    """The members' side.

    Args:
        store: where newcomers leave their tickets.
        timeout: seconds that a rank may be silent.
        began: with how many nodes the run began.
    """

    def __init__(self, store: PatientStore, timeout: float, began: int) -> None:
        self._store, self._began = store, began
        self._seconds = min(ANSWER_SECONDS, ANSWER_PART * timeout)
        self._done: set[int] = set()

    def waiting(
        self, members: Sequence[int], admissible: Container[int], facts: FactsOf
    ) -> AtTheDoor:
        """All who wait outside, answer, and fit to the members; the others are sent away."""
        asked, refused = self._asked(members, admissible), list[str]()
        while asked:
            numbers = sorted([*members, *asked.values()])
            answers = self._answers(list(asked), numbers)
            unfit = _unfit({t: asked[t] for t in answers}, answers, facts, numbers)
            refused += self._send_away(unfit, silent=set(asked) - set(answers))
            if not unfit and len(answers) == len(asked):
                break
            asked = {t: asked[t] for t in answers if t not in unfit}  # another network: ask again
        return AtTheDoor(sorted(asked.items()), refused)

    def _send_away(self, unfit: Mapping[int, str], silent: Collection[int]) -> Iterable[str]:
        for ticket, problem in unfit.items():
            self._store.put(f"door/{ticket}/entry", json.dumps(Refusal(refused=problem)))
        for ticket in {*unfit, *silent}:
            self._shut(ticket)
        return unfit.values()

    def _asked(self, members: Sequence[int], admissible: Container[int]) -> dict[int, int]:
        """Ticket → number of those who may come, the last ticket of each."""
        tickets = set(range(1, self._store.add("door/tickets", 0) + 1)) - self._done
        found = {number: t for t in sorted(tickets) if (number := self._number(t)) is not None}
        return {t: n for n, t in found.items() if n not in members and n in admissible}

    def let_in(self, ticket: int, entry: Entry) -> None:
        """Tell a newcomer what it needs to know."""
        self._store.put(f"door/{ticket}/entry", json.dumps(entry))
        self._shut(ticket)

    def _shut(self, ticket: int) -> None:
        """Let nobody come with this ticket any more."""
        self._store.put(f"door/{ticket}", "")

    def _number(self, ticket: int) -> int | None:
        """Who has this ticket; None if nobody has it any more, or has not said yet who it is."""
        text = self._store.look([f"door/{ticket}"])[0]
        if text == "":
            self._done.add(ticket)
        return int(text) if text else None

    def _answers(self, tickets: Sequence[int], numbers: list[int]) -> dict[int, dict[str, str]]:
        """Ticket → facts of those who are there; all are asked at once."""
        token = secrets.token_hex(8)
        question = Question(token=token, numbers=numbers, began=self._began)
        for ticket in tickets:
            self._store.put(f"door/{ticket}/open", json.dumps(question))
        here = [f"door/{ticket}/here" for ticket in tickets]
        deadline = time.monotonic() + self._seconds
        while True:
            said = [cast(Answer, json.loads(text or "{}")) for text in self._store.look(here)]
            found = zip(tickets, said, strict=True)
            there = {t: answer["facts"] for t, answer in found if answer.get("token") == token}
            if len(there) == len(tickets) or time.monotonic() > deadline:
                return there
            time.sleep(POLL_SECONDS)


def _unfit(
    asked: Mapping[int, int],
    answers: Mapping[int, Mapping[str, str]],
    facts: FactsOf,
    numbers: Sequence[int],
) -> dict[int, str]:
    """Ticket → why this newcomer cannot come in, of those who cannot."""
    ours, problem = dict[str, str](), ""
    try:
        ours = facts(numbers)
    except InvalidInput as reason:
        problem = str(reason)
    found = {ticket: problem or _difference(ours, theirs) for ticket, theirs in answers.items()}
    return {t: f"rank {asked[t]} was not let in: {why}" for t, why in found.items() if why}


def _difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """In words, what a newcomer does not have as the run has it; nothing if all is alike.

    >>> _difference({"lr": "0.1"}, {"lr": "0.2"})
    'lr: the run has 0.1, it has 0.2; start it with the same arguments as the others'
    """
    found = [
        f"{name}: the run has {ours.get(name, 'nothing')}, it has {theirs.get(name, 'nothing')}"
        for name in dict.fromkeys([*ours, *theirs])
        if ours.get(name) != theirs.get(name)
    ]
    return f"{'; '.join(found)}; start it with the same arguments as the others" if found else ""
