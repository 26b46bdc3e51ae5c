"""A stored result: one JSON file with its configuration and how it was made."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.digests import digest_of_words
from gossamer.errors import InvalidInput
from gossamer.experiments.unit import Result, Unit
from gossamer.files import whole_file
from gossamer.provenance import commit, device_name, versions


@dataclass(frozen=True)
class Record:
    """A stored result: the content of one JSON file."""

    config: dict[str, Any]
    """The configuration, i.e. the fields of the unit that was computed."""

    result: Result
    """The result that the unit computed."""

    made: dict[str, Any]
    """How it was computed, i.e. the seconds it took, the device, commit, time and versions."""

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Read a file that `write` wrote; any other file is refused."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            _require_unchanged(found)
            made = {**found["made"], "seconds": float(found["made"]["seconds"])}
            return cls(dict(found["config"]), dict(_restore(found["result"])), made)
        except (IsADirectoryError, ValueError, KeyError, TypeError, RecursionError) as reason:
            raise InvalidInput(
                f"out: {path} is damaged or not a result of Gossamer; "
                f"delete it, or start over with `gossamer run --force`"
            ) from reason

    @classmethod
    def of(cls, unit: Unit, result: Result, seconds: float, device: str) -> "Record":
        """The record of a unit whose `result` was just computed."""
        made = {
            "seconds": round(seconds, 3),
            "device": device_name(device),
            "commit": commit(),
            "time": time.strftime("%F %T"),
        }
        return cls(unit.config, result, {**made, **versions()})

    def write(self, path: Path) -> None:
        """Write the file atomically, i.e. completely or not at all."""
        plain = _plain(vars(self))
        text = json.dumps({**plain, "digest": _digest(plain)}, indent=1)
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")

    def differs_from(self, unit: Unit) -> list[str]:
        """The names of the fields in which `config` differs from the configuration of `unit`."""
        made, asked = self.config, json.loads(json.dumps(_plain(unit.config)))
        return [key for key in {**asked, **made} if made.get(key, ...) != asked.get(key, ...)]


def _digest(plain: Mapping[str, Any]) -> str:
    """Of configuration and result, as they are stored."""
    return digest_of_words(json.dumps([plain["config"], plain["result"]], sort_keys=True))


def _require_unchanged(found: Mapping[str, Any]) -> None:
    """Refuse what is not as it was written; files of earlier versions carry no digest."""
    if "digest" in found and found["digest"] != _digest(found):
        raise ValueError("its digest is another")


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
