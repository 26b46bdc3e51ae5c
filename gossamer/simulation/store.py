"""A folder of runs: only what is missing is computed."""

import itertools
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from gossamer.algorithms import Algorithm, Schedule
from gossamer.algorithms.stacked_schedules import in_floats
from gossamer.errors import refuse, require
from gossamer.files import whole_file, writable, write_csv
from gossamer.fingerprint import fingerprint
from gossamer.interval import Interval, within
from gossamer.locks import locked
from gossamer.provenance import versions
from gossamer.simulation.metrics import Metric
from gossamer.simulation.run import as_json
from gossamer.simulation.simulation import Simulation
from gossamer.simulation.stored_runs import StoredRuns, Wanted
from gossamer.simulation.stored_task import COLUMNS, TASK, StoredTask


class Store:
    """A folder that keeps the results of runs, so that no run is computed twice.

    A run is identified by its method, hyper-parameters, problem, network, noise, seed, precision,
    kind of device and the versions of Gossamer and torch. Classes and functions of your own are
    identified by their code. If you ask for more steps, seeds or settings than are stored, only the
    missing ones are computed. For the library's methods and problems on CPUs, the results are
    identical, bit for bit, to those of a single call that computes everything. A file is written
    completely or not at all, so a process that is killed loses only the work since its last file.
    If two processes ask for the same runs, the second waits for the first and then finds them.

    Args:
        folder: created if it does not exist.
        seconds: how much work, in seconds, goes into one file.

    >>> import tempfile, gossamer as gs
    >>> task = {"problem": gs.Quadratic(8, 4), "network": gs.ring(8), "steps": 100}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = gs.Store(folder)
    ...     run = gs.simulate(gs.DSGD(lr=0.1), **task, seeds=range(3), store=store)
    ...     more = gs.simulate(gs.DSGD(lr=0.1), **task, seeds=range(5), store=store)
    >>> store.computed  # 3 runs of 100 steps, then 2 more
    500
    """

    def __init__(self, folder: str | os.PathLike[str], seconds: float = 5.0) -> None:
        self.folder = Path(folder)
        self.seconds = within("seconds", seconds, Interval(0, math.inf, closed_high=True))
        self.computed = 0
        """Steps computed since this object was made, summed over the runs."""

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    @contextmanager
    def open(
        self,
        simulation: Simulation,
        algorithm: Algorithm[Any],
        seeds: Sequence[int],
        metrics: Mapping[str, Metric],
        state_type: type,
    ) -> Iterator[StoredRuns]:
        """Open the runs of a simulation, to read those that are stored and to add the others.

        A context manager, which `simulate` uses; other processes that need these runs wait for it.
        """
        facts = task_facts(simulation, algorithm)
        name = f"{type(algorithm).__name__}-{facts['fingerprint'][:16]}"
        folder = writable(self.folder / name, "store", "choose another folder")
        with locked(folder):
            if not (folder / TASK).exists():
                with whole_file(folder / TASK) as partial:
                    partial.write_text(json.dumps(facts, indent=1), encoding="utf-8")
            digests = {name: fingerprint(metric) for name, metric in metrics.items()}
            runs = run_keys(algorithm, seeds)
            wanted = Wanted(runs, digests, simulation.record_steps, simulation.keep_x)
            shelf = StoredRuns(folder, wanted, state_type, self.seconds)
            try:
                yield shelf
            finally:
                self.computed += shelf.computed

    def tasks(self) -> "list[StoredTask]":
        """All stored tasks, sorted by the names of their folders.

        A task holds the runs of one method on one problem, network and noise, in one precision.
        """
        return [StoredTask(path.parent) for path in sorted(self.folder.glob(f"*/{TASK}"))]

    def merge(self, other: "Store | str | os.PathLike[str]") -> int:
        """Copy the files that another store has and this one lacks; returns how many."""
        source = as_store(other)
        if source is None or not source.folder.is_dir():
            refuse("merge", other, "a store whose folder is there")
        copied = 0
        for task in source.tasks():
            folder = writable(self.folder / task.folder.name, "store", "choose another folder")
            with locked(folder):
                for path in sorted(task.folder.glob("[!.]*.*")):
                    copied += _copy(path, folder / path.name)
        return copied

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write all recorded numbers to a CSV file, one per line; returns how many."""
        rows = (row for task in self.tasks() for row in task.rows())
        return write_csv(path, itertools.chain([COLUMNS], rows)) - 1


def as_store(store: "Store | str | os.PathLike[str] | None") -> Store | None:
    """The store, of a folder one there."""
    if store is None or isinstance(store, Store):
        return store
    named = isinstance(store, str | os.PathLike) and not Path(store).is_file()
    require(named, "store", repr(store), "a folder or a gs.Store", "e.g. store='runs'")
    return Store(store)


def task_facts(simulation: Simulation, algorithm: Algorithm[Any]) -> dict[str, Any]:
    """All that runs of a store share, as plain JSON, with their fingerprint."""
    described = simulation.describe()
    content = (type(algorithm), simulation.problem, simulation.network, simulation.noise)
    where = {
        "dtype": described["dtype"],
        "device": str(described["device"]).partition(":")[0],
        "versions": {name: versions()[name] for name in ("gossamer", "torch")},
    }
    facts = {
        "algorithm": {"name": type(algorithm).__name__, "label": type(algorithm).label},
        **{name: described[name] for name in ("problem", "network", "noise")},
        **where,
        "fingerprint": fingerprint((content, where)),
    }
    return as_json(facts)


def run_keys(algorithm: Algorithm[Any], seeds: Sequence[int]) -> list[str]:
    """Of every run its hyper-parameters and seed, as words."""
    given = algorithm.hyperparameters.items()
    columns = {name: _of_runs(value, len(seeds)) for name, value in given}
    settings = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    pairs = zip(settings or [{}] * len(seeds), seeds, strict=True)
    return [json.dumps([as_json(setting), seed], sort_keys=True) for setting, seed in pairs]


def _of_runs(value: Any, runs: int) -> list[Any]:
    """A hyper-parameter of every run, as JSON takes it; a schedule counts by its content."""
    if isinstance(value, Tensor) and value.ndim:
        return [float(number) for number in value.flatten().tolist()]
    if isinstance(value, Schedule) and value.is_stacked:
        return [_of_runs(value.of_run(run), 1)[0] for run in range(runs)]
    plain = in_floats(value)
    if isinstance(plain, Schedule):
        plain = {"schedule": repr(plain), "fingerprint": fingerprint(plain)}
    return [plain] * runs


def _copy(source: Path, target: Path) -> bool:
    """Whether there was something to copy."""
    if target.exists():
        return False
    try:
        with whole_file(target) as partial:
            shutil.copyfile(source, partial)
    except FileNotFoundError:  # somebody who writes there has just replaced it
        return False
    return True
