"""Only what is missing is computed, and an interruption at any moment changes nothing."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from soak_kill import stored
from toy import Toy

from gossamer.experiments import Options, Store, run_experiment
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic import dependence


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path, Options())


def test_everything_once_and_nothing_twice(store: Store):
    toy = Toy()
    heard: list[tuple[str, int, int]] = []
    assert run_experiment(toy, Options(), store, notify=lambda *news: heard.append(news)) == 3
    assert heard == [("k=0", 0, 3), ("k=1", 1, 3), ("k=2", 2, 3)]
    assert run_experiment(toy, Options(), store, notify=lambda *news: heard.append(news)) == 0
    assert len(heard) == 3
    assert set(toy.computed.values()) == {1}


def test_only_what_is_missing(store: Store):
    toy = Toy()
    store.save(toy, toy.units(Options())[1], {"value": "stored"}, 0.0)
    assert run_experiment(toy, Options(), store) == 2
    assert toy.computed == {"k=0": 1, "k=2": 1}
    results = store.results(toy, Options())
    assert results is not None
    assert results["k=1"] == {"value": "stored"}


def test_what_is_forgotten_starts_over(store: Store):
    toy = Toy()
    run_experiment(toy, Options(), store)
    store.path(toy, toy.units(Options())[1]).write_text("damaged")
    store.forget(toy, toy.units(Options()))
    assert run_experiment(toy, Options(), store) == 3
    assert store.results(toy, Options()) == {f"k={k}": {"value": k} for k in range(3)}


def test_forgetting_leaves_other_experiments_alone(store: Store):
    other = Toy()
    other.name = "other"  # type: ignore[misc]
    for toy in (Toy(), other):
        run_experiment(toy, Options(), store)
    store.forget(Toy(), Toy().units(Options()))
    assert run_experiment(Toy(), Options(), store) == 3
    assert run_experiment(other, Options(), store) == 0


@pytest.mark.parametrize("reason", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_unit_is_computed_again_and_nothing_else(store: Store, reason):
    def interrupt(name: str) -> None:
        if name == "k=1":
            raise reason

    with pytest.raises(reason):
        run_experiment(Toy(interrupt), Options(), store)
    toy = Toy()
    heard: list[tuple[str, int, int]] = []
    assert run_experiment(toy, Options(), store, notify=lambda *news: heard.append(news)) == 2
    assert heard == [("k=1", 1, 3), ("k=2", 2, 3)]
    assert toy.computed == {"k=1": 1, "k=2": 1}


def test_results_of_another_seed_are_not_overwritten(store: Store):
    run_experiment(Toy(), Options(seed=0), store)
    before = stored(store.root)
    with pytest.raises(ValueError, match="made with another configuration"):
        run_experiment(Toy(), Options(seed=1), store)
    assert stored(store.root) == before


def test_a_folder_that_cannot_be_made_is_found_out_before_the_work(store: Store):
    (store.root / "toy").write_text("a file in the way")
    toy = Toy()
    with pytest.raises(FileExistsError):
        run_experiment(toy, Options(), store)
    assert not toy.computed


SMALL_STEPS = 3_000
SMALL = f"""
from gossamer.cli import main
from gossamer.studies.synthetic import dependence
dependence.STEPS = {SMALL_STEPS}
main()
"""


def start(out: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-c", SMALL, "run", "connectivity", "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_in_a_unit(out: Path, delay: float) -> None:
    """SIGKILL `delay` seconds after the first unit of work was announced."""
    with start(out) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("  ["):
                break
        time.sleep(delay)
        process.kill()
    assert process.returncode == -9, "killed too late to learn anything"


def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A small version of soak_kill.py: the files are byte for byte those of a run in peace."""
    out, moments = tmp_path / "killed", random.Random(0)
    for longest in (0.1, 0.7):
        kill_in_a_unit(out, moments.uniform(0, longest))
    left = len(stored(out))
    assert left < 4
    with start(out) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.count("  [") == 4 - left
    monkeypatch.setattr(dependence, "STEPS", SMALL_STEPS)
    peace = Store.open(tmp_path / "peace", Options())
    run_experiment(EXPERIMENTS["connectivity"], Options(), peace)
    assert len(stored(peace.root)) == 4
    assert stored(out / "quick") == stored(peace.root)
