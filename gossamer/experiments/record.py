"""A stored result: one JSON file with its configuration and how it was made."""

import json
import math
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gossamer.errors import InvalidInput
from gossamer.experiments.unit import Result, Unit
from gossamer.files import whole_file
from gossamer.simulation.run import versions


@dataclass(frozen=True)
class Record:
    """What a file holds."""

    config: dict[str, Any]
    result: Result

    made: dict[str, Any]
    """Seconds, device, commit, time and versions."""

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read what `write` wrote; anything else is refused."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            made = {**found["made"], "seconds": float(found["made"]["seconds"])}
            return cls(dict(found["config"]), dict(_restore(found["result"])), made)
        except (IsADirectoryError, ValueError, KeyError, TypeError, RecursionError) as reason:
            raise InvalidInput(
                f"out: {path} is damaged or not a result of Gossamer; "
                f"delete it, or start over with `gossamer run --force`"
            ) from reason

    @classmethod
    def of(cls, unit: Unit, result: Result, seconds: float, device: str) -> "Record":
        """The result of a unit that was just computed."""
        made = {
            "seconds": round(seconds, 3),
            "device": device_name(device),
            "commit": commit(),
            "time": time.strftime("%F %T"),
        }
        return cls(unit.config, result, {**made, **versions()})

    def write(self, path: Path) -> None:
        """Write the file in one stroke."""
        text = json.dumps(_plain(vars(self)), indent=1)
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")

    def differs_from(self, unit: Unit) -> list[str]:
        """The fields in which this was made otherwise than the unit asks for."""
        made, asked = self.config, json.loads(json.dumps(_plain(unit.config)))
        return [key for key in {**asked, **made} if made.get(key, ...) != asked.get(key, ...)]


def device_name(device: str) -> str:
    """The device in words."""
    return torch.cuda.get_device_name() if device == "cuda" else device.upper()


def commit() -> str | None:
    """The commit of the source tree the package runs from, where it is known.

    A tree without its history can be told by the environment variable `GOSSAMER_COMMIT`.
    """
    if told := os.environ.get("GOSSAMER_COMMIT"):
        return told
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(git, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def _plain(value: Any) -> Any:
    """JSON without NaN and ∞, which standard readers refuse: they become {"float": "inf"}."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _restore(value: Any) -> Any:
    if isinstance(value, dict):
        return (
            float(value["float"])
            if set(value) == {"float"}
            else {k: _restore(v) for k, v in value.items()}
        )
    return [_restore(item) for item in value] if isinstance(value, list) else value
