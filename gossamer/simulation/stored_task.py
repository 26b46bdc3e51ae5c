"""One task of a store, read: what it is of, and how much of it is there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gossamer.sealed import undamaged
from gossamer.simulation.stored_runs import StoredPiece, pieces_in
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
        return facts

    @cached_property
    def pieces(self) -> list[StoredPiece]:
        """Its pieces of work, in order."""
        return sorted(
            pieces_in(self.folder), key=lambda piece: (piece.start, piece.end, piece.path.name)
        )

    @property
    def reached(self) -> dict[str, int]:
        """Run → the last step that is stored of it."""
        found: dict[str, int] = {}
        for piece in self.pieces:
            found |= {run: max(piece.end, found.get(run, 0)) for run in piece.runs}
        return found

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

    def rows(self) -> Iterator[list[Any]]:
        """Every stored number once with what it is of, in the order of `COLUMNS`."""
        words, told = list(self.words.values()), set[tuple[Any, ...]]()
        for piece in self.pieces:
            settings = {run: json.loads(run) for run in piece.runs}
            for number, value in piece.numbers():
                if number not in told:
                    told.add(number)
                    run, step, name, _ = number
                    setting, seed = settings[run]
                    yield [*words, json.dumps(setting), seed, step, name, value]
