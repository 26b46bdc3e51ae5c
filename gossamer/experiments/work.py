"""An experiment bound to its size, seed and folder: what is stored, what is missing, running it."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from gossamer.errors import InvalidInput, choice, require
from gossamer.executors import spread
from gossamer.experiments.experiment import Experiment, Options, Results, require_stated
from gossamer.experiments.record import Record
from gossamer.experiments.unit import Unit
from gossamer.files import writable
from gossamer.locks import locked
from gossamer.simulation.threads import on_free_cores

Notify = Callable[[str, int, int], None]
"""Called as notify(unit name, units done, units in all)."""


@dataclass(frozen=True)
class Work:
    """An experiment with a given size and seed, and the folder that has a result file per unit."""

    experiment: Experiment[Any]
    options: Options
    folder: Path

    @classmethod
    def below(
        cls, out: str | os.PathLike[str], experiment: Experiment[Any], options: Options
    ) -> "Work":
        """An experiment whose folder is `<out>/<size>/<name of the experiment>`."""
        require_stated(experiment)
        choice(f"size of {experiment.name}", options.size, experiment.sizes)
        return cls(experiment, options, Path(out) / options.size / experiment.name)

    @cached_property
    def units(self) -> Sequence[Unit]:
        """The units of work, in the order in which they are computed."""
        size = self.experiment.sizes[self.options.size]
        return self.experiment.units(size, self.options.seed)

    def path(self, unit: Unit) -> Path:
        """The path of the unit's file."""
        return self.folder / f"{unit.name}.json"

    def load(self, unit: Unit) -> Record | None:
        """The unit's stored record, or None if there is none.

        A file that is damaged, or has a record of another configuration, is refused.
        """
        path = self.path(unit)
        if not path.exists():
            return None
        record = Record.read(path)
        differ = record.differs_from(unit)
        require(
            not differ,
            "out",
            f"{path}, made with another configuration ({', '.join(differ)})",
            "results of the same configuration",
            "choose another --out, the --seed they were made with, "
            "or start over with `gossamer run --force`",
        )
        return record

    def stored(self) -> dict[str, Record]:
        """The stored records, by the name of the unit; refuses the same files as `load`."""
        found = ((unit.name, self.load(unit)) for unit in self.units)
        return {name: record for name, record in found if record is not None}

    def missing(self) -> list[Unit]:
        """The units that are still to be computed; refuses the same files as `load`."""
        stored = self.stored()
        return [unit for unit in self.units if unit.name not in stored]

    def results(self) -> Results | None:
        """The results by the name of the unit; None while there are too few to draw and judge."""
        stored = {name: record.result for name, record in self.stored().items()}
        return stored if self.experiment.readable(stored, self.units) else None

    def count(self) -> tuple[int, int]:
        """The number of units that are stored, and the number of files that `load` refuses."""
        there = [unit for unit in self.units if self.path(unit).exists()]
        refused = sum(self._refuses(unit) for unit in there)
        return len(there) - refused, refused

    def _refuses(self, unit: Unit) -> bool:
        try:
            self.load(unit)
        except InvalidInput:
            return True
        return False

    def forget(self, units: Iterable[Unit]) -> None:
        """Remove the stored results of these units."""
        for unit in units:
            self.path(unit).unlink(missing_ok=True)

    def run(
        self,
        device: str = "cpu",
        *,
        executor: Executor | None = None,
        notify: Notify = lambda name, done, total: None,
        part: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ) -> list[Unit]:
        """Compute and store the units that are missing; returns them.

        If it is interrupted, only the units in progress are lost, and the next call computes them.
        If another process runs the same work, the call waits for it and then uses its results.

        Args:
            device: where to compute, e.g. "cuda".
            executor: computes several units at the same time; by default they are computed one by
                one.
            notify: called as `notify(name, done, total)` before each unit, with its name, the
                number of units done before it and the number of all units. With an executor, it is
                called after the unit.
            part: `part(name)` is a context manager that is entered while a unit is computed and
                stored. With an executor, it is entered only while the result is stored.
        """
        writable_out(self.folder)  # found out before the work
        with locked(self.folder):
            missing, total = self.missing(), len(self.units)
            before = total - len(missing)
            if executor is None:
                for done, unit in enumerate(missing, start=before):
                    notify(unit.name, done, total)
                    with part(unit.name), on_free_cores():
                        compute(unit, device).write(self.path(unit))
                return missing
            results = spread(partial(compute, device=device), deque(missing), executor)
            for done, (unit, record) in enumerate(results, start=before):
                with part(unit.name):
                    record.write(self.path(unit))
                notify(unit.name, done, total)
        return missing


def compute(unit: Unit, device: str) -> Record:
    """The record of a unit, computed here."""
    start = time.perf_counter()
    result = unit.run(device)
    return Record.of(unit, result, time.perf_counter() - start, device)


def writable_out(folder: Path) -> Path:
    """The folder of results, if it can be written to."""
    return writable(folder, "out", "choose another --out")
