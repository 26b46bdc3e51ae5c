"""Parts of the pages that are made of what benchmarks/ wrote."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markup import table

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
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
        f"Of {found['runs']} runs of {found['samples each']:,} samples each, "
        f"{found['runs with an estimate below 1.95']} had an estimate of the tail index "
        f"below 1.95. The lowest estimate was {found['lowest estimate']:.2f}."
    )


def bad_networks(_: str) -> str:
    """Final errors of every situation on every network."""
    found = json.loads((BENCHMARKS / "bad_networks.json").read_text(encoding="utf-8"))
    situations = list(found["rows"][0]["errors"])
    rows = [
        [_breakable(row["network"]), *(_spread(row["errors"][name]) for name in situations)]
        for row in found["rows"]
    ]
    about = (
        f"The errors are those after {found['steps']:,} steps. All nodes start at a distance of "
        f"{found['start']:.1f} from the optimum; t(1.5) is the Student-t noise."
    )
    return f"{about}\n\n{table(['network', *situations], rows)}"


def exact(_: str) -> str:
    """Final errors without noise, of every method on every network."""
    found = json.loads((BENCHMARKS / "exact.json").read_text(encoding="utf-8"))
    methods = found["settings"]
    rows = [
        [network, *(e if isinstance(e := errors[m], str) else f"{e:.1e}" for m in methods)]
        for network, errors in found["errors"].items()
    ]
    settings = "\n".join(
        f"- `{s['method']}`: {s['step size']} step size, {s['steps']:,} steps, started "
        f"{s['start']:.1f} away from the optimum"
        for s in methods.values()
    )
    return f"{settings}\n\n{table(['network', *methods], rows)}"


def _breakable(name: str) -> str:
    """A name that a narrow column can break before its dots.

    >>> _breakable("ring(10).drops(0.3)")
    'ring(10)<wbr>.drops(0.3)'
    """
    return name.replace(").", ")<wbr>.")


def _spread(errors: list[float]) -> str:
    """Median and range, where that shows.

    >>> _spread([0.13, 0.18, 0.15]), _spread([2e-14, 2e-14, 2e-14])
    ('0.15 (0.13 – 0.18)', '2e-14')
    """
    median, low, high = (
        f"{value:.2g}" for value in (statistics.median(errors), min(errors), max(errors))
    )
    return median if low == high else f"{median} ({low} – {high})"


TABLES: dict[str, Callable[[str], str]] = {
    "bad_networks": bad_networks,
    "exact": exact,
    "probed": probed,
    "tail_verdicts": tail_verdicts,
}
