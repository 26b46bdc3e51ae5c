"""How many cores others leave free, told by counters and a clock of our own."""

import os
import subprocess
import sys
import time

import pytest

from gossamer.native.threads import our_cores
from gossamer.simulation.load import INTERVAL, Load, seconds_on_our_cores


class Machine:
    """Time passes as told: some cores work for others, some for us."""

    def __init__(self) -> None:
        self.now = self.all = self.own = 0.0

    def work(self, seconds: float, others: float, own: float) -> None:
        self.now += seconds
        self.all += seconds * (others + own)
        self.own += seconds * own

    def load(self, cores: int) -> Load:
        return Load(cores, lambda: self.all, lambda: self.own, lambda: self.now)


@pytest.mark.parametrize(
    ("cores", "others", "own", "free"),
    [
        (2, 0.0, 1.0, 2),
        (2, 0.1, 1.9, 2),
        (2, 0.4, 1.0, 1),
        (2, 1.0, 1.0, 1),
        (2, 4 / 3, 2 / 3, 1),  # two busy processes and us on two cores
        (16, 8.0, 1.0, 8),
        (16, 16.0, 0.0, 1),
        (1, 0.0, 1.0, 1),
    ],
)
def test_a_core_is_free_unless_others_take_a_good_part_of_it(cores, others, own, free):
    machine = Machine()
    load = machine.load(cores)
    machine.work(1.0, others, own)
    assert load.free_cores() == free


def test_only_what_happened_since_the_last_look_counts():
    machine = Machine()
    load = machine.load(2)
    machine.work(100.0, others=2.0, own=0.0)
    assert load.free_cores() == 1
    machine.work(INTERVAL / 2, others=0.0, own=1.0)
    assert load.free_cores() == 1, "too soon to tell"
    machine.work(INTERVAL, others=0.0, own=1.0)
    assert load.free_cores() == 2


def test_before_there_was_time_to_look_it_is_one():
    assert Machine().load(8).free_cores() == 1


def test_where_the_system_does_not_tell_all_cores_count():
    load = Load(4, lambda: None)
    assert load.free_cores() == 4


@pytest.mark.skipif(seconds_on_our_cores() is None, reason="the system does not tell")
@pytest.mark.skipif(os.nice(0) > 0, reason="what is niced, as these tests are, is not counted")
def test_a_busy_process_on_our_cores_is_seen():
    """It works at most as long as time passes, and nearly so long if it is not pushed aside."""
    before, own, start = seconds_on_our_cores(), time.process_time(), time.monotonic()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        time.sleep(1.0)
        busy.kill()
    elapsed = time.monotonic() - start
    others = seconds_on_our_cores() - before - (time.process_time() - own)
    assert 0.3 * elapsed < others < (len(our_cores()) + 0.1) * elapsed
