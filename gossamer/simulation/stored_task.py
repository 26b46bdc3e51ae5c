"""One task of a store, read: what it is of, and how much of it is there."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gossamer.sealed import undamaged
from gossamer.simulation.stored_runs import StoredRecords, read_pieces
from gossamer.simulation.words import show_call

TASK = "task.json"

COLUMNS = (
    *("method", "problem", "network", "noise", "dtype", "hyperparameters", "seed"),
    *("step", "metric", "value"),
)
"""What a row tells."""


@dataclass(frozen=True)
class StoredTask:
    """Runs of one method on one problem, network and noise, in one precision."""

    folder: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What all its runs share."""
        with undamaged(self.folder / TASK, "store", "delete its folder"):
            facts: dict[str, Any] = json.loads((self.folder / TASK).read_text(encoding="utf-8"))
            facts["algorithm"]["label"], facts["problem"], facts["network"]["name"]
            facts["noise"], facts["dtype"]
        return facts

    @property
    def words(self) -> dict[str, str]:
        """What it is of, in words."""
        noise = self.facts["noise"]
        return {
            "method": self.facts["algorithm"]["label"],
            "problem": show_call(self.facts["problem"]),
            "network": self.facts["network"]["name"],
            "noise": "none" if noise is None else noise["name"],
            "dtype": self.facts["dtype"],
        }

    def read(self) -> list[StoredRecords]:
        """Its pieces of work, in order."""
        return sorted(
            read_pieces(self.folder), key=lambda r: (r.of.start, r.of.end, r.of.path.name)
        )

    def rows(self) -> Iterator[list[Any]]:
        """Every stored number once with what it is of, in the order of `COLUMNS`."""
        words, told = list(self.words.values()), set[tuple[Any, ...]]()
        for records in self.read():
            settings = {run: json.loads(run) for run in records.of.runs}
            for number, value in records.numbers():
                if number not in told:
                    told.add(number)
                    run, step, name, _ = number
                    setting, seed = settings[run]
                    yield [*words, json.dumps(setting), seed, step, name, value]


def reached(read: Iterable[StoredRecords]) -> dict[str, int]:
    """Run → the last step that is stored of it."""
    found: dict[str, int] = {}
    for records in read:
        piece = records.of
        found |= {run: max(piece.end, found.get(run, 0)) for run in piece.runs}
    return found
