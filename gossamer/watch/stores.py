"""Stored runs: of every method the setting that is furthest and best so far."""

import json
import math
import statistics
from collections.abc import Mapping
from pathlib import Path

from gossamer.simulation import Store
from gossamer.simulation.stored_runs import StoredRecords
from gossamer.simulation.stored_task import TASK, StoredTask, reached
from gossamer.simulation.words import show_hyperparameters
from gossamer.watch.section import Chart, Curve, Section

JUDGES = ("error", "loss", "validation_loss")
"""By which of the metrics runs are judged, the first that was recorded."""

Records = Mapping[float, float]
"""Step → value."""


def find(folder: Path) -> list[Path]:
    """The files of the store in this very folder, if it is one."""
    tasks = sorted(folder.glob(f"*/{TASK}"))
    return [path for task in tasks for path in sorted(task.parent.glob("*.*"))]


def read(folder: Path) -> list[Section]:
    """What a store holds, a section for each problem, network and noise."""
    groups: dict[str, list[StoredTask]] = {}
    for task in Store(folder).tasks():
        words = task.words
        title = f"{words['problem']} on {words['network']}, noise {words['noise']}"
        groups.setdefault(title, []).append(task)
    return [_section(title, tasks) for title, tasks in groups.items()]


def _section(title: str, tasks: list[StoredTask]) -> Section:
    methods = [(task.words["method"], task.read()) for task in tasks]
    ends = [step for _, read in methods for step in reached(read).values()]
    metrics = {name for _, read in methods for records in read for name in records.metrics}
    judge = next((name for name in JUDGES if name in metrics), min(metrics, default="error"))
    curves = [_best(label, read, judge) for label, read in methods]
    told = (
        f"{len(ends):,} runs, {max(ends, default=0):,} steps; "
        "of each method the setting that is best so far"
    )
    return Section(title, told, None, [Chart(judge, [curve for curve in curves if curve.points])])


def _best(label: str, read: list[StoredRecords], metric: str) -> Curve:
    """Of the settings that are furthest, and have most seeds, the lowest; its median over them."""
    settings: dict[str, list[Records]] = {}
    for run, records in _runs(read, metric).items():
        settings.setdefault(json.dumps(json.loads(run)[0]), []).append(records)
    if not settings:
        return Curve(label, {})
    best = min(settings, key=lambda setting: _rank(settings[setting]))
    own = json.loads(best).items()
    shown = {name: value["schedule"] if isinstance(value, dict) else value for name, value in own}
    return Curve(f"{label} ({show_hyperparameters(shown)})", _median(settings[best]))


def _rank(runs: list[Records]) -> tuple[float, ...]:
    """The further the better, then the more seeds, then the lower; what diverged comes last."""
    records = _median(runs)
    last = max(records)
    return (-last, -len(runs), records[last]) if math.isfinite(records[last]) else (math.inf,)


def _runs(read: list[StoredRecords], metric: str) -> dict[str, dict[float, float]]:
    """Run → its records."""
    found: dict[str, dict[float, float]] = {}
    for records in read:
        if metric in records.metrics:
            rows, piece = records.metrics[metric].tolist(), records.of
            for step, row in zip(piece.facts["steps"], rows, strict=True):
                for run, value in zip(piece.runs, row, strict=True):
                    found.setdefault(run, {})[step] = value
    return found


def _median(runs: list[Records]) -> dict[float, float]:
    """At every step that any of the runs has a record of."""
    steps = sorted({step for run in runs for step in run})
    return {step: statistics.median([run[step] for run in runs if step in run]) for step in steps}
