"""Who is let in, and who is sent away, before anything of a run is touched."""

import json
import threading
import time

import torch.distributed as dist

from gossamer.distributed.door import AtTheDoor, Door
from gossamer.distributed.patient_store import PatientStore
from gossamer.distributed.survivors import Survivors
from gossamer.errors import require
from gossamer.networks import ring

FITS, MISFIT = {"lr": "0.1"}, {"lr": "0.2"}


class Waiting:
    """Newcomers that answer what they are asked; one without facts is silent."""

    def __init__(self, newcomers: dict[int, dict[str, str] | None]) -> None:
        self.store, self.asked = PatientStore(dist.HashStore(), 5.0), []
        for number, facts in newcomers.items():
            self.start(self.store.add("door/tickets", 1), number, facts)

    def start(self, ticket: int, number: int, facts: dict[str, str] | None) -> None:
        self.store.put(f"door/{ticket}", str(number))
        if facts is not None:
            arguments = (ticket, number, facts)
            threading.Thread(target=self._answers, args=arguments, daemon=True).start()

    def _answers(self, ticket: int, number: int, facts: dict[str, str]) -> None:
        answered = None
        while self.store.look([f"door/{ticket}"]) == [str(number)]:
            (question,) = self.store.look([f"door/{ticket}/open"])
            if question not in (None, answered):
                asked = json.loads(question)
                self.asked.append(asked["numbers"])
                answer = {"token": asked["token"], "facts": facts}
                self.store.put(f"door/{ticket}/here", json.dumps(answer))
                answered = question
            time.sleep(0.001)

    def ask(self, facts=lambda numbers: FITS, timeout: float = 5.0) -> AtTheDoor:
        return Door(self.store, timeout, began=2).waiting([0, 1], range(9), facts)


def test_who_fits_comes_in():
    waiting = Waiting({3: FITS, 4: FITS})
    assert waiting.ask() == ([(1, 3), (2, 4)], [])
    assert waiting.asked == [[0, 1, 3, 4]] * 2


def test_who_does_not_fit_is_told_why_and_the_others_are_asked_as_another_network():
    waiting = Waiting({3: MISFIT, 4: FITS})
    problem = "rank 3 was not let in: lr: the run has 0.1, it has 0.2; start it with the same"
    comers, (refused,) = waiting.ask()
    assert comers == [(2, 4)]
    assert refused.startswith(problem)
    assert json.loads(waiting.store.look(["door/1/entry"])[0]) == {"refused": refused}
    assert waiting.asked[-1] == [0, 1, 4]
    assert waiting.ask() == ([(2, 4)], [])


def test_who_is_silent_is_not_waited_for_again():
    waiting = Waiting({3: None, 4: FITS})
    assert waiting.ask(timeout=1.0) == ([(2, 4)], [])
    begin = time.monotonic()
    assert waiting.ask() == ([(2, 4)], [])
    assert time.monotonic() - begin < 4, "the time to answer is 5 s"


def test_who_has_drawn_a_ticket_and_not_yet_said_who_it_is_comes_in_later():
    waiting = Waiting({})
    door = Door(waiting.store, 5.0, began=2)
    waiting.store.add("door/tickets", 1)
    assert door.waiting([0, 1], range(9), lambda numbers: FITS) == ([], [])
    waiting.start(1, 3, FITS)
    assert door.waiting([0, 1], range(9), lambda numbers: FITS) == ([(1, 3)], [])


def test_nodes_that_cannot_be_a_network_are_refused():
    def facts(numbers):
        require(len(numbers) in (2, 4), "network", f"{len(numbers)} nodes", "2, 4, …")
        return FITS

    comers, (refused,) = Waiting({3: FITS}).ask(facts)
    assert comers == []
    assert refused == "rank 3 was not let in: network: got 3 nodes, need 2, 4, …"
    assert Waiting({3: FITS, 4: FITS}).ask(facts) == ([(1, 3), (2, 4)], [])


def test_a_newcomer_for_whom_a_function_of_the_user_s_has_no_network_is_sent_away():
    waiting = Waiting({2: FITS})
    survivors = Survivors(waiting.store, {2: ring(2)}.__getitem__, range(2), 5.0, None)
    comers, (refused,) = survivors.waiting({})
    assert comers == []
    assert refused.endswith("network: the function makes none of 3 nodes (KeyError: 3)")
