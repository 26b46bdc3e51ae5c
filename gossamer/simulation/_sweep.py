"""`sweep`: a whole grid of hyper-parameters × seeds as one stacked run."""

import dataclasses
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, admissible_sets
from gossamer.errors import choice, require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.halving import Halving, median
from gossamer.simulation.metrics import main_metric
from gossamer.simulation.recorder import record
from gossamer.simulation.run import Run
from gossamer.simulation.setting import Setting, list_seeds, require_kind

Strategy = Literal["grid", "halving"]


@dataclass(frozen=True)
class Sweep:
    """Results of every setting of a grid, for every seed."""

    stacked: Run
    """All runs on one axis, seed fastest."""

    settings: Sequence[Mapping[str, Any]]
    """The hyper-parameters of each setting."""

    @property
    def metrics(self) -> dict[str, Tensor]:
        """Name → `(records, settings, seeds)`."""
        shape = (len(self.settings), -1)
        return {k: v.unflatten(1, shape) for k, v in self.stacked.metrics.items()}

    @property
    def diverged_at(self) -> Tensor:
        """`(settings, seeds)`, −1 where a run stayed finite."""
        return self.stacked.diverged_at.view(len(self.settings), -1)

    def scores(self, metric: str | None = None) -> Tensor:
        """One number per setting: the median over the seeds of the metric's final level.

        The final level is the mean over the last tenth of the records, which a single wild step
        does not decide; ∞ where a run did not finish. The median of an even number of seeds is
        the mean of the middle two, so half of them diverging is enough to be refused.
        """
        tail = max(1, len(self.stacked.steps) // 10)
        name = choice("metric", metric or self.stacked.main_metric, self.stacked.metrics)
        level = self.metrics[name][-tail:].mean(0)
        middle = median(level)
        return middle.where(middle.isfinite(), torch.inf)

    def best(self, metric: str | None = None) -> Run:
        """The runs of the setting with the lowest score; refused where every setting diverged."""
        scores, count = self.scores(metric), len(self.settings)
        found = f"{count} settings that all diverged" if count > 1 else "a setting that diverged"
        require(bool(scores.isfinite().any()), "grid", found, "one that does not", "try a lower lr")
        return self.runs(int(scores.argmin()))

    def runs(self, setting: int) -> Run:
        """The runs of one setting, as `simulate` would have returned them."""
        setting = range(len(self.settings))[setting]
        count = len(self.stacked.diverged_at) // len(self.settings)
        span = slice(setting * count, (setting + 1) * count)
        algorithm = {
            "name": self.stacked.config["algorithm"]["name"],
            "hyperparameters": dict(self.settings[setting]),
        }
        return dataclasses.replace(
            self.stacked,
            metrics={k: v[:, span] for k, v in self.stacked.metrics.items()},
            diverged_at=self.stacked.diverged_at[span],
            steps_taken=self.stacked.steps_taken[span],
            x=self.stacked.x[:, span],
            config=self._shared_config | {"algorithm": algorithm, "seeds": self._seeds},
        )

    @property
    def _seeds(self) -> list[int]:
        seeds: list[int] = self.stacked.config["seeds"]
        return seeds[: len(seeds) // len(self.settings)]

    @property
    def _shared_config(self) -> dict[str, Any]:
        return {k: v for k, v in self.stacked.config.items() if k != "settings"}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one safetensors file, whole or not at all."""
        self.stacked.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Sweep":
        """Read what `save` wrote; executes nothing from the file."""
        stacked = Run.load(path)
        require("settings" in stacked.config, "path", path, "a sweep", "read it with Run.load")
        return cls(stacked, stacked.config["settings"])


def sweep(
    algorithm: type[Algorithm[Any]],
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    problem: Problem,
    network: Network,
    *,
    noise: Noise | None = None,
    steps: int,
    seeds: int | Iterable[int] = 0,
    strategy: Strategy | Halving = "grid",
    record_every: int | None = None,
    metrics: Sequence[str] | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    progress: bool | None = None,
    keep_x: bool = True,
) -> Sweep:
    """Run every combination of the grid's values for every seed, as one stacked run.

    Args as in `simulate`, but for

    Args:
        algorithm: the class of the method.
        grid: hyper-parameter → values, every combination of which is a setting; or the settings
            themselves, `[{"lr": 0.1, "momentum": 0.9}, …]`. A word has one value in all of them.
        strategy: "grid" runs everything to the end, "halving" ends hopeless settings early,
            judged by the first metric; a `Halving` says how many when.
        metrics: by default the error, or the loss where the optimum is unknown.

    >>> import gossamer as gs
    >>> grid = {"lr": [0.001, 0.01, 0.1], "momentum": [0.5]}
    >>> problem = gs.Quadratic(8, 4)
    >>> found = gs.sweep(gs.GTNSGDm, grid, problem, gs.ring(8), steps=400)
    >>> found.best().hyperparameters
    {'lr': 0.01, 'momentum': 0.5}
    """
    is_class = isinstance(algorithm, type)
    require(is_class, "algorithm", algorithm, "the class of a method", "as gs.GTNSGDm")
    require_kind("problem", problem, Problem, "gs.RobustRegression(20)")
    names = [main_metric(problem)] if metrics is None else metrics
    setting = Setting(
        problem, network, noise, steps, record_every, names, dtype, device, progress, keep_x
    )
    settings = _settings(algorithm, grid)
    listed = list_seeds(seeds)
    prune = _rule(strategy, len(listed))
    config = {
        "algorithm": {"name": algorithm.__name__},
        "settings": settings,
        "strategy": "grid" if prune is None else "halving",
    }
    stacked = stack_settings(algorithm, settings, len(listed))
    run = record(setting, stacked, listed * len(settings), config, prune)
    return Sweep(run, run.config["settings"])


def _settings(
    algorithm: type[Algorithm[Any]],
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Every hyper-parameter of every setting, those left out at their defaults."""
    listed = grid_settings(grid) if isinstance(grid, Mapping) else list(grid)
    require(len(listed) > 0, "grid", grid, "at least one setting to try")
    for name in {name for chosen in listed for name in chosen}:
        choice("grid", name, admissible_sets(algorithm))
    return [algorithm(**chosen).hyperparameters for chosen in listed]


def _rule(strategy: Strategy | Halving, num_seeds: int) -> Halving | None:
    """How runs are ended early, if they are."""
    if isinstance(strategy, Halving):
        seeds = strategy.num_seeds
        require(seeds == num_seeds, "strategy", f"num_seeds = {seeds}", f"{num_seeds}, as `seeds`")
        return strategy
    known = get_args(Strategy)
    words = f"one of {', '.join(map(repr, known))}, or a Halving"
    require(strategy in known, "strategy", strategy, words)
    return Halving(num_seeds) if strategy == "halving" else None


def grid_settings(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values, the last name varying fastest.

    >>> grid_settings({"lr": [1, 2], "clip": [5]})
    [{'lr': 1, 'clip': 5}, {'lr': 2, 'clip': 5}]
    """
    values = [_values(name, given) for name, given in grid.items()]
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*values)]


def _values(name: str, given: Iterable[Any]) -> list[Any]:
    """The values to try for one hyper-parameter, as plain numbers or words."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    require(several, name, repr(given), "a list of values to try", f"write [{given!r}]")
    listed = [value.item() if hasattr(value, "item") else value for value in given]
    require(len(listed) > 0, name, listed, "at least one value to try")
    return listed


def stack_settings(
    algorithm: type[Algorithm[Any]],
    settings: Sequence[Mapping[str, Any]],
    copies: int,
) -> Algorithm[Any]:
    """One method whose hyper-parameters are `(settings × copies, 1)`, each setting repeated.

    Those that all settings share stay numbers or words.
    """
    columns: dict[str, Any] = {}
    for name, first in settings[0].items():
        values = [setting[name] for setting in settings]
        columns[name] = first
        if any(value != first for value in values):
            a_word = isinstance(first, str)
            require(not a_word, name, sorted(set(values)), "one word", "sweep once for each")
            column = torch.tensor(values, dtype=torch.float64).repeat_interleave(copies)
            columns[name] = column[:, None]
    return algorithm(**columns)
