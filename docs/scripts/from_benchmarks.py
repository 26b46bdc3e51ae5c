"""Parts of the pages that are made of what benchmarks/ wrote."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markup import table

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
import speeds  # noqa: E402

SIZES = (1_000, 10_000, 100_000)

Counts = dict[str, Any]
"""What `benchmarks/tails.py` counted of one law at one size."""


def tail_verdicts(which: str) -> str:
    """How often `diagnose` was right, wrong or undecided: "required" laws, or the "other"."""
    laws = json.loads((BENCHMARKS / "tails.json").read_text(encoding="utf-8"))["laws"]
    names = dict.fromkeys(key.rpartition(", ")[0] for key in laws)
    found = {name: [laws[f"{name}, {size}"] for size in SIZES] for name in names}
    rows = [
        _row(name, sizes)
        for name, sizes in found.items()
        if sizes[0]["required"] == (which == "required")
    ]
    numbers = [f"n = {size:,}" for size in SIZES]
    return table(["law", "index", *numbers, "median of suggested_p"], rows)


def _row(name: str, sizes: list[Counts]) -> list[str]:
    index = sizes[0]["tail index"]
    cells = [_verdicts(counts) for counts in sizes]
    shown = "∞" if index is None else f"{index:g}"
    orders = ", ".join(f"{counts['median p']:.2f}" for counts in sizes)
    return [name.removesuffix(" *"), shown, *cells, orders]


def _verdicts(counts: Counts) -> str:
    """Right / wrong / undecided.

    >>> counts = {"tail index": 1.5, "infinite variance": 90, "light": 0, "undecided": 10}
    >>> _verdicts(counts | {"wrong": 0, "repetitions": 100})
    '90 / 0 / 10'
    """
    heavy = counts["tail index"] is not None and counts["tail index"] < 2
    right = counts["infinite variance" if heavy else "light"]
    parts = (right, counts["wrong"], counts["undecided"])
    return " / ".join(_percentage(part, counts) for part in parts)


def _percentage(part: int, counts: Counts) -> str:
    """Halves of a per cent are shown: 1 in 200 is one.

    >>> _percentage(1, {"repetitions": 200}), _percentage(2, {"repetitions": 200})
    ('0.5', '1')
    """
    return f"{100 * part / counts['repetitions']:g}"


def probed(_: str) -> str:
    """What a probe at its default makes of Gaussian gradients."""
    found = json.loads((BENCHMARKS / "tails.json").read_text(encoding="utf-8"))["probe"]
    return (
        f"In {found['runs with an estimate below 1.95']} of {found['runs']} runs, each with "
        f"{found['samples each']:,} samples, this lowest estimate was below 1.95. Its smallest "
        f"value in all runs was {found['lowest estimate']:.2f}."
    )


def exact(_: str) -> str:
    """Final errors without noise, of every method on every network."""
    found = json.loads((BENCHMARKS / "exact.json").read_text(encoding="utf-8"))
    methods = found["settings"]
    rows = [
        [network, *(e if isinstance(e := errors[m], str) else f"{e:.1e}" for m in methods)]
        for network, errors in found["errors"].items()
    ]
    settings = "\n".join(
        f"- `{s['method']}`: {s['steps']:,} steps, started {s['start']:.1f} away from the optimum"
        for s in methods.values()
    )
    return f"{settings}\n\n{table(['network', *methods], rows)}"


def speed_table(place: str) -> str:
    """What was measured on a "cpu", on "one core" or with "cuda", beside its goal."""
    every = speeds.kept(place)
    flat = [speed for speed in every if speed.what.startswith(speeds.GROWTH_WITH) and speed.met]
    rows = [_unbroken(speed.cells()) for speed in every if speed not in flat]
    said = f"{_growth(flat)} Measured on {speeds.machines(place)}."
    return f"{table(list(speeds.COLUMNS), rows)}\n\n{said}"


def _growth(flat: list[speeds.Speed]) -> str:
    """One sentence on all that grows as slowly as it should."""
    worst, goal = max(speed.value for speed in flat), max(speed.goal for speed in flat)
    return (
        f"With more runs, nodes or dimensions, the time and memory per number may grow to at most "
        f"{goal:g} times those of the cheapest size of at least 50,000 numbers. In all {len(flat)} "
        f"cases, they are at most {worst:.2f} times as high at the largest size (1 means that no "
        f"smaller size is cheaper)."
    )


def _unbroken(cells: list[str]) -> list[str]:
    """Numbers stay in one line with their units; a peer's name may stand above its number.

    >>> [cell.replace("\\xa0", "_") for cell in _unbroken(["a b", "1 µs", "JAX: 2 (0.5 ×)"])]
    ['a b', '1_µs', 'JAX: 2_(0.5_×)']
    """
    what, *numbers = cells
    return [what, *(cell.replace(" ", "\xa0").replace(":\xa0", ": ") for cell in numbers)]


def against_jax(_: str) -> str:
    """The sweep and the single run beside those of JAX, on all cores and on one."""
    rows = [
        [
            speed.what,
            cores,
            f"{ours:.3g} {speed.unit}",
            f"{jax:.3g} {speed.unit}",
            f"{ours / jax:.2f}",
        ]
        for place, cores in {"one core": "one", "cpu": "all"}.items()
        for speed in speeds.kept(place)
        if speed.peer == "JAX"
        for ours, jax in [(speed.value, speed.beside)]
    ]
    columns = ["workload", "cores", "Gossamer", "JAX", "Gossamer's time divided by JAX's"]
    return f"{table(columns, rows)}\n\nMeasured on {speeds.machines('cpu')}."


TABLES: dict[str, Callable[[str], str]] = {
    "against_jax": against_jax,
    "exact": exact,
    "probed": probed,
    "speeds": speed_table,
    "tail_verdicts": tail_verdicts,
}
