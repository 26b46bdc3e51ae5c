"""Where results live: one JSON file per unit, written whole, never overwritten half-done."""

import json
import math
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.errors import InvalidInput, require
from gossamer.experiments.experiment import Experiment, Options, Result, Results, Unit
from gossamer.files import whole_file
from gossamer.simulation.run import versions


@dataclass(frozen=True)
class Store:
    """The results of one study under `root`, a folder per experiment and a file per unit."""

    root: Path

    @classmethod
    def open(cls, out: str | os.PathLike[str], options: Options) -> "Store":
        """The folder for these options below `out`, made if it is not there."""
        root = Path(out) / options.profile
        try:
            root.mkdir(parents=True, exist_ok=True)
            probe = root / ".writable"
            probe.touch()
            probe.unlink(missing_ok=True)  # another run may open the folder at this moment
        except OSError as reason:
            raise InvalidInput(
                f"out: cannot write to {root} ({reason.strerror}); choose another --out"
            ) from reason
        return cls(root)

    def path(self, experiment: Experiment, unit: Unit) -> Path:
        """The unit's file."""
        return self.root / experiment.name / f"{unit.name}.json"

    def folder(self, experiment: Experiment) -> Path:
        """The experiment's folder, made if it is not there."""
        folder = self.root / experiment.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def missing(self, experiment: Experiment, options: Options) -> list[Unit]:
        """The units that are still to be computed; damaged or foreign results are refused."""
        units = experiment.units(options)
        return [unit for unit in units if self.load(experiment, unit) is None]

    def load(self, experiment: Experiment, unit: Unit) -> Result | None:
        """The stored result, or None where there is none; a foreign one is refused."""
        path = self.path(experiment, unit)
        if not path.exists():
            return None
        record = _read(path)
        made, asked = record["config"], _plain(unit.config)
        differ = [key for key in {**asked, **made} if made.get(key, ...) != asked.get(key, ...)]
        require(
            not differ,
            "out",
            f"{path}, made with another configuration ({', '.join(differ)})",
            "results of the same configuration",
            "choose another --out, the --seed and --device they were made with, "
            "or `gossamer run --force` to start over",
        )
        return record["result"]

    def save(self, experiment: Experiment, unit: Unit, result: Result, seconds: float) -> None:
        """Write the unit's file in one stroke."""
        path = self.folder(experiment) / self.path(experiment, unit).name
        made = {"seconds": round(seconds, 3), "commit": commit(), "time": time.strftime("%F %T")}
        record = {
            "config": _plain(unit.config),
            "result": _plain(result),
            "made": {**made, **versions()},
        }
        with whole_file(path) as partial:
            partial.write_text(json.dumps(record, indent=1), encoding="utf-8")

    def forget(self, experiment: Experiment, units: list[Unit]) -> None:
        """Remove the stored results of these units."""
        for unit in units:
            self.path(experiment, unit).unlink(missing_ok=True)

    def results(self, experiment: Experiment, options: Options) -> Results | None:
        """The results of an experiment, or None while there are too few to read."""
        units = experiment.units(options)
        found = {unit.name: self.load(experiment, unit) for unit in units}
        stored = {name: result for name, result in found.items() if result is not None}
        return stored if experiment.readable(stored, units) else None

    def count(self, experiment: Experiment, options: Options) -> tuple[int, int]:
        """How many of the units are stored, and how many files are damaged or foreign."""
        units = [u for u in experiment.units(options) if self.path(experiment, u).exists()]
        refused = sum(self._refuses(experiment, unit) for unit in units)
        return len(units) - refused, refused

    def _refuses(self, experiment: Experiment, unit: Unit) -> bool:
        try:
            self.load(experiment, unit)
        except InvalidInput:
            return True
        return False

    def seconds(self, experiment: Experiment, options: Options) -> float:
        """What the stored units took to compute."""
        paths = [self.path(experiment, unit) for unit in experiment.units(options)]
        return sum(_read(path)["seconds"] for path in paths if path.exists())


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


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {
            "config": dict(record["config"]),
            "result": dict(_restore(record["result"])),
            "seconds": float(record["made"]["seconds"]),
        }
    except (IsADirectoryError, ValueError, KeyError, TypeError, RecursionError) as reason:
        raise InvalidInput(
            f"out: {path} is damaged or not a result of Gossamer; "
            f"delete it, or `gossamer run --force` to start over"
        ) from reason


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
