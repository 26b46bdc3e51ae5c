"""All speeds in one table: what was measured last, beside its goal, its floor and a peer.

    python benchmarks/speeds.py         what `make benchmark` measured, on a CPU and on a GPU

Each benchmark keeps its rows in `speeds.json` as it measures them. A floor is the least time that
the arithmetic and the memory of the machine allow, a peer another way to compute the same.
"""

import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.table import Table

STORE = Path(__file__).with_suffix(".json")
sys.path.insert(0, str(STORE.parent.parent))  # what imports this may then import this checkout


@dataclass(frozen=True)
class Speed:
    """One number that has a goal."""

    what: str
    value: float
    unit: str
    goal: float
    floor: float | None = None
    peer: str | None = None
    beside: float | None = None
    """The peer's number, in the same unit."""

    least: bool = False
    """Whether the goal is the least that is wanted, not the most."""

    @property
    def met(self) -> bool:
        return self.value >= self.goal if self.least else self.value <= self.goal

    @property
    def wanted(self) -> str:
        """The goal, and whether it is missed."""
        return f"{'≥' if self.least else '≤'} {self.goal:.3g}" + " missed" * (not self.met)

    def cells(self) -> list[str]:
        """What a table shows of it."""
        peer = "" if self.beside is None else f"{self.peer}: {self._beside(self.beside)}"
        floor = "" if self.floor is None else self._beside(self.floor)
        return [self.what, f"{self.value:.3g} {self.unit}", self.wanted, floor, peer]

    def _beside(self, other: float) -> str:
        """Another number, and how many times it ours is.

        >>> Speed("a step", 1.5, "ms", goal=2.0)._beside(0.5)
        '0.5 (3 ×)'
        """
        return f"{other:.3g} ({self.value / other:.2g} ×)"


TITLES = {"cpu": "on CPUs", "one core": "on one core, CPU time", "cuda": "on a GPU"}
COLUMNS = "what", "measured", "goal", "floor", "peer"

GROWTH_WITH = "growth with the "
"""How the names of speeds begin that compare the largest size of something with the cheapest."""

GROWN = "time", "memory"


def keep(place: str, speeds: Iterable[Speed]) -> None:
    """Write them down for a place, "cpu", "one core" or "cuda", over those of the same name."""
    stored = _stored()
    rows = stored.setdefault(place, {})
    for speed in speeds:
        rows[speed.what] = {**asdict(speed), "machine": machine(place)}
    new = STORE.with_suffix(".new")
    new.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(new, STORE)


def kept(place: str) -> list[Speed]:
    """All that was measured there."""
    names = [field.name for field in fields(Speed)]
    rows = _stored().get(place, {}).values()
    return [Speed(**{name: row[name] for name in names}) for row in rows]


def machines(place: str) -> str:
    """Where that was."""
    return " and ".join(dict.fromkeys(row["machine"] for row in _stored()[place].values()))


def machine(place: str) -> str:
    """What is written beside a number."""
    cores = f"{os.cpu_count()} cores, {_processor()}"
    name = torch.cuda.get_device_name() if place == "cuda" else cores
    return f"{name}, torch {torch.__version__}"


def _processor() -> str:
    """Its name where Linux tells it."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _stored() -> dict[str, dict[str, Any]]:
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


def growth_rows(growing: Iterable[Speed]) -> list[list[str]]:
    """What grows, and how much dearer a number then is in time and in memory, in one row.

    >>> names = [f"{GROWTH_WITH}number of runs: {kind} per number" for kind in GROWN]
    >>> growth_rows(Speed(name, 1.2, "times", 1.5) for name in names)
    [['number of runs', '1.20 (≤ 1.5)', '1.20 (≤ 1.5)']]
    """
    rows: dict[str, list[str]] = {}
    for speed in growing:
        cause, _, _ = speed.what.removeprefix(GROWTH_WITH).partition(": ")
        rows.setdefault(cause, [cause]).append(f"{speed.value:.2f} ({speed.wanted})")
    return list(rows.values())


def print_table(title: str, columns: Iterable[str], rows: Iterable[list[str]]) -> None:
    """Names are broken where the line is too long, numbers are not."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place > 0)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def main() -> None:
    for place in _stored():
        every = kept(place)
        growing = [speed for speed in every if speed.what.startswith(GROWTH_WITH)]
        others = [speed.cells() for speed in every if speed not in growing]
        print_table(f"Speed {TITLES[place]}", COLUMNS, others)
        if growing:
            title = f"Growth {TITLES[place]}: largest size / cheapest size, per number"
            print_table(title, ("what grows", *GROWN), growth_rows(growing))


if __name__ == "__main__":
    main()
