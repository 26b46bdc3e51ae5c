"""What a terminal shows of runs while they are computed: the lowest error, the best settings."""

import json
import math
import statistics
import time
from typing import TYPE_CHECKING

from gossamer.progress import tell
from gossamer.simulation.store import run_keys
from gossamer.simulation.words import show_count, show_hyperparameters
from gossamer.text import aligned

if TYPE_CHECKING:
    from gossamer.simulation.runner import Recorded

ROWS = 5
"""Settings in the table."""

SECONDS = 0.2
"""Between two looks: what happens in between nobody could read."""


class Live:
    """Tells the bar of this thread how well its runs do; to be called with their records.

    Args:
        method: what it is called.
        metric: by which runs are judged.
        settings: how many are tried; with several there is a table of the best.
    """

    def __init__(self, method: str, metric: str, settings: int) -> None:
        self._method, self._metric, self._settings = method, metric, settings
        self._looked = -math.inf
        self._seen: dict[str, dict[int, float]] = {}
        """Setting → seed → the metric when last looked at."""
        self._step: dict[str, int] = {}

    def __call__(self, recorded: "Recorded") -> None:
        """Take in a record."""
        now = time.monotonic()
        if now - self._looked < SECONDS:
            return
        self._looked = now
        values = recorded.metrics[self._metric].tolist()
        keys = run_keys(recorded.algorithm, recorded.seeds)
        for key, value in zip(keys, values, strict=True):
            setting, seed = json.loads(key)
            name = json.dumps(setting)
            self._seen.setdefault(name, {})[seed] = value
            self._step[name] = recorded.step
        lowest = min((value for value in values if math.isfinite(value)), default=math.inf)
        tell(f"lowest {self._metric} {lowest:.3g}", self.lines() if self._settings > 1 else ())

    def lines(self) -> list[str]:
        """The best settings so far, those that are furthest first and of these the lowest."""
        level = {name: statistics.median(of.values()) for name, of in self._seen.items()}
        finite = {name: value for name, value in level.items() if math.isfinite(value)}
        ranked = sorted(finite, key=lambda name: (-self._step[name], finite[name]))[:ROWS]
        head = [f"{self._method}: best of {self._settings:,} settings", "step", self._metric]
        rows = [[_words(n), show_count(self._step[n]), f"{finite[n]:.3g}"] for n in ranked]
        return aligned([head, *rows]) if rows else []


def _words(setting: str) -> str:
    numbers = {k: v for k, v in json.loads(setting).items() if isinstance(v, int | float)}
    return show_hyperparameters(numbers)
