"""The numbers of a training, beside its checkpoints, for whoever watches.

    folder/log.jsonl        {"run": {"algorithm": "GTNSGDm", "steps": 200, …}}
                            {"step": 50, "loss": 0.4, "validation_loss": 0.5, …}

A line is appended whenever something is reported, and each time the training starts or goes on. It
may go on from an earlier step than was reported: a record replaces those at its step and later.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.files import naming

LOG = "log.jsonl"


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line in one stroke; after one that was cut off by a crash it begins anew."""
    plain = {name: _plain(value) for name, value in line.items()}
    text = json.dumps(plain, allow_nan=False) + "\n"
    with naming(path), path.open("ab+", buffering=0) as file:
        file.seek(max(0, file.seek(0, 2) - 1))
        whole = file.read(1) in (b"", b"\n")
        file.write(("" if whole else "\n").encode() + text.encode())


def _plain(value: Any) -> Any:
    """JSON has no NaN and no ∞: they become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass
class TrainingLog:
    """What a log says."""

    run: dict[str, Any] = field(default_factory=dict)
    """What is trained, and how."""

    records: list[dict[str, Any]] = field(default_factory=list)
    """In the order of their steps."""

    @classmethod
    def read(cls, path: Path) -> "TrainingLog":
        """Read what there is; lines that are not whole yet, or damaged, are passed over."""
        found = cls()
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            found._take(_parsed(line))
        return found

    def _take(self, line: dict[str, Any]) -> None:
        if isinstance(line.get("run"), dict):
            self.run = line["run"]
        elif isinstance(step := line.get("step"), int):
            self.records = [one for one in self.records if one["step"] < step]
            self.records.append(line)


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
