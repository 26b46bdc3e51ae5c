"""Only what is missing is computed, and an interruption at any moment changes nothing."""

import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO

import pytest
import torch
from processes import context
from soak_kill import stored
from toy import BEFORE, COMPUTED, Toy

from gossamer.cli import main
from gossamer.errors import InvalidInput
from gossamer.experiments import Options, Record, Work
from gossamer.simulation import threads
from gossamer.studies import EXPERIMENTS


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    COMPUTED.clear()
    yield Work.below(tmp_path, Toy(), Options())
    BEFORE.clear()


def test_everything_once_and_nothing_twice(work: Work):
    heard: list[tuple[str, int, int]] = []
    assert work.run(notify=lambda *news: heard.append(news)) == list(work.units)
    assert heard == [(f"k={k}", k, 3) for k in range(3)]
    assert work.run() == []
    assert COMPUTED == {"k=0": 1, "k=1": 1, "k=2": 1}


def test_units_leave_cores_to_others(work: Work, monkeypatch: pytest.MonkeyPatch):
    """Two threads beside busy processes wait for each other after every operation."""
    seen: list[int] = []
    BEFORE.append(lambda name: seen.append(torch.get_num_threads()))
    monkeypatch.setattr(threads, "LOAD", SimpleNamespace(free_cores=lambda: 1))
    torch.set_num_threads(2)
    work.run()
    afterwards = torch.get_num_threads()
    torch.set_num_threads(1)
    assert (seen, afterwards) == ([1, 1, 1], 2)


def test_an_executor_computes_the_same(work: Work):
    heard: list[int] = []
    with ThreadPoolExecutor(2) as threads:
        computed = work.run(executor=threads, notify=lambda name, done, total: heard.append(done))
    assert computed == list(work.units)
    assert heard == [0, 1, 2]
    assert work.results() == {f"k={k}": {"value": k} for k in range(3)}


def test_what_is_stored_is_left_alone(work: Work):
    work.folder.mkdir(parents=True)
    Record.of(work.units[1], {"value": "stored"}, 0.0, "cpu").write(work.path(work.units[1]))
    assert [unit.name for unit in work.run()] == ["k=0", "k=2"]
    results = work.results()
    assert results is not None
    assert results["k=1"] == {"value": "stored"}


def test_what_is_forgotten_starts_over(work: Work):
    work.run()
    work.path(work.units[1]).write_text("damaged")
    work.forget(work.units)
    assert len(work.run()) == 3
    assert work.results() == {f"k={k}": {"value": k} for k in range(3)}


@pytest.mark.parametrize("reason", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_unit_is_computed_again_and_nothing_else(work: Work, reason):
    def interrupt(name: str) -> None:
        if name == "k=1":
            raise reason

    BEFORE.append(interrupt)
    with pytest.raises(reason):
        work.run()
    BEFORE.clear()
    heard: list[tuple[str, int, int]] = []
    assert len(work.run(notify=lambda *news: heard.append(news))) == 2
    assert heard == [("k=1", 1, 3), ("k=2", 2, 3)]
    assert COMPUTED == {"k=0": 1, "k=1": 1, "k=2": 1}


def test_results_of_another_seed_are_not_overwritten(work: Work, tmp_path: Path):
    work.run()
    before = stored(work.folder)
    with pytest.raises(InvalidInput, match="made with another configuration"):
        Work.below(tmp_path, Toy(), Options(seed=1)).run()
    assert stored(work.folder) == before


def test_a_folder_that_cannot_be_made_is_found_out_before_the_work(work: Work):
    work.folder.parent.mkdir(parents=True)
    work.folder.write_text("a file in the way")
    with pytest.raises(InvalidInput, match="cannot write to"):
        work.run()
    assert not COMPUTED


def run_noise_level(out: Path, said: Connection) -> None:
    sys.stdout = open(said.fileno(), "w", buffering=1)  # noqa: SIM115
    sys.argv = ["gossamer", "run", "noise-level", "--size", "test", "--out", str(out)]
    main()


@contextmanager
def start(out: Path) -> Iterator[tuple[BaseProcess, TextIO]]:
    """The command in a process of its own, which need not import torch again, and what it says."""
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=run_noise_level, args=(out, theirs))
    process.start()
    theirs.close()
    with open(os.dup(mine.fileno())) as said:
        yield process, said
    process.join(timeout=60)


def kill_in_a_unit(out: Path, number: int, delay: float) -> None:
    """SIGKILL `delay` seconds after that many units of work were announced."""
    with start(out) as (process, said):
        announced = (line for line in said if line.startswith("  ["))
        for _ in range(number):
            next(announced)
        time.sleep(delay)
        process.kill()
    assert process.exitcode == -9, "killed too late to learn anything"


def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path):
    """A small version of soak_kill.py: the files are byte for byte those of a run in peace."""
    out, moments = tmp_path / "killed", random.Random(0)
    for number in (1, 2):
        kill_in_a_unit(out, number, moments.uniform(0, 0.01))
    left = len(stored(out))
    assert left < 6
    with start(out) as (process, said):
        announced = said.read().count("  [")
    assert process.exitcode == 0
    assert announced == 6 - left
    peace = Work.below(tmp_path / "peace", EXPERIMENTS["noise-level"], Options("test"))
    peace.run()
    assert len(stored(peace.folder)) == 6
    assert stored(out / "test" / "noise-level") == stored(peace.folder)
