"""An experiment of a study: its units so far, their curves, and the verdicts once all are there."""

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gossamer.experiments import Options, Record, Work
from gossamer.experiments.experiment import SIZES
from gossamer.studies import EXPERIMENTS
from gossamer.watch.section import Chart, Curve, Section

AXES = ("steps", "horizons")
"""Under which names a result lists the places of its records."""


def find(folder: Path) -> list[Path]:
    """The files of the experiment whose folder this is, if it is one."""
    known = folder.name in EXPERIMENTS and folder.parent.name in SIZES
    return sorted(folder.glob("*.json")) if known else []


def read(folder: Path) -> list[Section]:
    """What is stored of the experiment."""
    size = next(size for size in SIZES if size == folder.parent.name)
    work = Work(EXPERIMENTS[folder.name], Options(size), folder)
    paths = {unit.name: work.path(unit) for unit in work.units}
    records = {name: Record.read(path) for name, path in paths.items() if path.is_file()}
    results = {name: record.result for name, record in records.items()}
    readable = bool(results) and work.experiment.readable(results, work.units)
    seconds = sum(record.made["seconds"] for record in records.values())
    section = Section(
        f"{work.experiment.name}: {work.experiment.title}",
        f"{len(records)} of {len(paths)} units, computed in {seconds:,.0f} s",
        len(records) / len(paths),
        _charts(results),
        work.experiment.verdicts(results) if readable else (),
    )
    return [section]


def _charts(results: Mapping[str, Any]) -> list[Chart]:
    """A chart for each metric that any unit has a curve of."""
    charts: dict[str, list[Curve]] = {}
    for unit, result in results.items():
        for metric, points in curves_in(result):
            charts.setdefault(metric, []).append(Curve(unit, points))
    return [Chart(metric, curves) for metric, curves in charts.items()]


def curves_in(result: Any, within: str = "") -> Iterator[tuple[str, dict[float, float]]]:
    """Lists as long as that of the steps beside them, wherever they are; of seeds the median.

    >>> list(curves_in({"ring": {"steps": [0, 10], "loss": [[3.0, 4.0], [1.0, 2.0]], "p": 1.5}}))
    [('ring, loss', {0: 3.5, 10: 1.5})]
    """
    if not isinstance(result, Mapping):
        return
    places = next((result[axis] for axis in AXES if isinstance(result.get(axis), list)), None)
    for name, values in result.items():
        inside = f"{within}, {name}" if within else name
        yield from curves_in(values, inside)
        if places is not None and name not in AXES and _curve(values, len(places)):
            yield inside, dict(zip(places, map(_middle, values), strict=True))


def _curve(values: Any, length: int) -> bool:
    return isinstance(values, list) and len(values) == length and all(map(_is_record, values))


def _is_record(value: Any) -> bool:
    seeds = value if isinstance(value, list) else [value]
    return bool(seeds) and all(isinstance(seed, int | float) for seed in seeds)


def _middle(value: Any) -> float:
    return float(statistics.median(value)) if isinstance(value, list) else float(value)
