"""`sweep`: a whole grid of hyper-parameters × seeds as one stacked run."""

import dataclasses
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, get_args

import torch

from gossamer.algorithms import Algorithm, Interval, admissible_sets
from gossamer.algorithms.stacked_schedules import stacked
from gossamer.errors import choice, require
from gossamer.executors import as_executor
from gossamer.kinds import require_problem
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation._simulate import describe_algorithm
from gossamer.simulation.clock import Clock
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import COSTS, Measure, main_metric, metric_name
from gossamer.simulation.run import as_json
from gossamer.simulation.runner import OnRecord, Resources, record
from gossamer.simulation.simulation import Simulation, as_list, list_seeds
from gossamer.simulation.store import Store, as_store
from gossamer.simulation.sweep_record import Sweep

Strategy = Literal["grid", "halving"]


Grid = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]
"""Hyper-parameter → values, every combination of which is a setting; or the settings themselves."""


def sweep(
    algorithm: type[Algorithm[Any]],
    grid: Grid,
    problem: Problem,
    network: Network,
    *,
    noise: Noise | None = None,
    steps: int,
    seeds: int | Iterable[int] = 0,
    strategy: Strategy | Halving = "grid",
    judge_by: str | Measure | None = None,
    record_every: int | None = None,
    metrics: Sequence[str | Measure] | None = None,
    clock: Clock | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    progress: bool | None = None,
    keep_x: bool = True,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    on_record: OnRecord | None = None,
) -> Sweep:
    """Run every setting of a grid of hyper-parameters for every seed, all runs in one stack.

    Arguments that are not listed here are those of `simulate`.

    Args:
        algorithm: the class of the method, e.g. `gs.DSGD`.
        grid: a dictionary from hyper-parameters to lists of values, in which every combination of
            values is a setting, or a list of settings, `[{"lr": 0.1, "momentum": 0.9}, …]`. The
            values of a hyper-parameter may be numbers, schedules or both. A hyper-parameter whose
            type is string, integer or bool must have the same value in all settings.
        strategy: "grid" runs every setting to the end, and "halving" ends hopeless settings early.
            Pass a `Halving` to choose how many are ended, and when.
        judge_by: the metric that ranks the settings, one of `metrics`. By default it is the
            only one of `metrics` if you pass a single one, and otherwise "error", or "loss" if
            the optimum is unknown.
        metrics: what to record; by default only `judge_by` and what a node has spent.

    >>> import gossamer as gs
    >>> grid = {"lr": [0.001, 0.01, 0.1], "momentum": [0.5]}
    >>> problem = gs.Quadratic(8, 4)
    >>> found = gs.sweep(gs.GTNSGDm, grid, problem, gs.ring(8), steps=400)
    >>> found.best().hyperparameters["lr"]
    0.01
    """
    require_class(algorithm)
    names = judged_metrics(problem, judge_by, metrics)
    resources = Resources(as_store(store), as_executor(executor), on_record)
    simulation = Simulation(
        problem=problem,
        network=network,
        noise=noise,
        steps=steps,
        record_every=record_every,
        metrics=names,
        clock=clock,
        dtype=dtype,
        device=device,
        progress=progress,
        keep_x=keep_x,
        alike=resources.alike,
    )
    settings, rule = list_settings(algorithm, grid), halving_rule(strategy)
    return run_settings(simulation, algorithm, settings, list_seeds(seeds), resources, rule)


def run_settings(
    simulation: Simulation,
    algorithm: type[Algorithm[Any]],
    settings: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    resources: Resources,
    halving: Halving | None,
) -> Sweep:
    """`sweep`, of a simulation that is described; judged by the first of its metrics."""
    assert simulation.metrics
    of_a_sweep = {
        "settings": list(settings),
        "strategy": "grid" if halving is None else "halving",
        "judge_by": metric_name(simulation.metrics[0]),
    }
    facts = {"algorithm": describe_algorithm(algorithm), **of_a_sweep, "seeds": list(seeds)}
    config = as_json({**facts, **simulation.describe()})
    method = stack_settings(algorithm, settings, len(seeds))
    count, runs = len(settings), list(seeds) * len(settings)
    done = record(simulation, method, runs, resources, settings=count, halving=halving)
    return Sweep(
        steps=done.steps,
        metrics={name: values.unflatten(1, (count, -1)) for name, values in done.metrics.items()},
        diverged_at=done.diverged_at.view(count, -1),
        steps_taken=done.steps_taken.view(count, -1),
        x=done.x.unflatten(1, (count, -1)),
        config=config | {"metrics": list(done.metrics), "in_c": done.in_c},
    )


def judged_metrics(
    problem: Problem, judge_by: str | Measure | None, metrics: Sequence[str | Measure] | None
) -> list[str | Measure]:
    """What to record, the metric to judge by first."""
    require_problem(problem)
    metrics = as_list("metrics", metrics)
    judge = _judge(problem, metrics) if judge_by is None else judge_by
    need = "a metric that says how good a setting is, not what it costs"
    require(judge not in COSTS, "judge_by", repr(judge), need, f"e.g. {main_metric(problem)!r}")
    recorded = [judge] if metrics is None else metrics
    names = [metric_name(one) for one in recorded]
    good = [name for name in names if name not in COSTS]
    way_out = f"e.g. judge_by={good[0]!r}" if good else f"record one, e.g. {metric_name(judge)!r}"
    found = f"{'the default ' if judge_by is None else ''}{metric_name(judge)!r}"
    require(metric_name(judge) in names, "judge_by", found, f"one of `metrics`, {names}", way_out)
    return [judge, *(one for one in recorded if metric_name(one) != metric_name(judge))]


def _judge(problem: Problem, metrics: Sequence[str | Measure] | None) -> str | Measure:
    """What settings are judged by if nobody says it: the only metric, or that of the problem."""
    asked = [one for one in metrics or () if one not in COSTS]
    return asked[0] if len(asked) == 1 else main_metric(problem)


def require_class(algorithm: object) -> None:
    """Refuse a method that has its hyper-parameters already, or only its name."""
    is_class = isinstance(algorithm, type) and issubclass(algorithm, Algorithm)
    need = "the class of a method, whose hyper-parameters are tried"
    require(is_class, "algorithm", repr(algorithm), need, "e.g. gs.GTNSGDm")


def as_lists(grid: Grid) -> Grid:
    """The same, which may be read more than once."""
    if not isinstance(grid, Mapping):
        return list(grid)
    return {name: [*v] if isinstance(v, Iterator) else v for name, v in grid.items()}


def list_settings(algorithm: type[Algorithm[Any]], grid: Grid) -> list[dict[str, Any]]:
    """Every hyper-parameter of every setting, those left out at their defaults."""
    listed = grid_settings(grid) if isinstance(grid, Mapping) else _given_settings(grid)
    require(len(listed) > 0, "grid", grid, "at least one setting to try")
    fields = {field.name: field for field in dataclasses.fields(algorithm)}
    for name in {name for chosen in listed for name in chosen}:
        choice("grid", name, fields)
    needed = [name for name, field in fields.items() if field.default is dataclasses.MISSING]
    for name in needed:
        given = all(name in chosen for chosen in listed)
        found = f"no value of {name} for {algorithm.__name__}"
        require(given, "grid", found, "some", _with_search_set(algorithm, name))
    return [algorithm(**chosen).hyperparameters for chosen in listed]


def _with_search_set(algorithm: type[Algorithm[Any]], name: str) -> str:
    """How to search for one more hyper-parameter, here or wherever the method is tuned."""
    grid = f"{{**gs.simulation.search_set({algorithm.__name__}), {name!r}: [0.1, 0.5]}}"
    always = f"gs.simulation.search_sets.BY_METHOD[{algorithm.__name__}]"
    return f"e.g. {grid}, as the grid or, for all calls, as {always}"


def _given_settings(settings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A list of settings, refused where it is a list of grids."""
    listed, grid = list(settings), "for a grid, pass one dictionary of lists"
    for one in listed:
        need = "a dictionary for each setting"
        require(isinstance(one, Mapping), "grid", f"{one!r} in a list", need, "e.g. {'lr': 0.1}")
        for name, value in one.items():
            found, need = f"{name} = {value!r} in a list of settings", "one value each"
            require(not isinstance(value, list | tuple | range), "grid", found, need, grid)
    return listed


def halving_rule(strategy: Strategy | Halving) -> Halving | None:
    """How runs are ended early, if they are."""
    if isinstance(strategy, Halving):
        return strategy
    known = get_args(Strategy)
    words = f"one of {', '.join(map(repr, known))}, or a Halving"
    require(strategy in known, "strategy", strategy, words)
    return Halving() if strategy == "halving" else None


def grid_settings(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values; the last hyper-parameter varies fastest.

    >>> grid_settings({"lr": [1, 2], "clip": [5]})
    [{'lr': 1, 'clip': 5}, {'lr': 2, 'clip': 5}]
    """
    values = [_values(name, given) for name, given in grid.items()]
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*values)]


def _values(name: str, given: Iterable[Any]) -> list[Any]:
    """The values to try for one hyper-parameter, as plain numbers or words."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    several = several and getattr(given, "ndim", 1) > 0
    require(several, name, repr(given), "a list of values to try", f"write [{given!r}]")
    listed = [_value(name, value) for value in given]
    require(len(listed) > 0, name, listed, "at least one value to try")
    return listed


def _value(name: str, given: Any) -> Any:
    """One value to try, as a plain number, a word or a schedule."""
    if not hasattr(given, "item"):
        return given
    size, found = math.prod(given.shape), f"a value to try of shape {tuple(given.shape)}"
    require(size == 1, name, found, "one number each", "list its numbers one by one")
    return given.item()


def stack_settings(
    algorithm: type[Algorithm[Any]],
    settings: Sequence[Mapping[str, Any]],
    copies: int,
) -> Algorithm[Any]:
    """One method with the hyper-parameters of many runs: every setting, `copies` times in a row.

    A hyper-parameter becomes a tensor of shape `(settings · copies, 1)`, or a schedule that gives
    one. If all settings share its value, it stays that number, schedule or string.
    """
    columns: dict[str, Any] = {}
    default = {field.name: field.default for field in dataclasses.fields(algorithm)}
    for name, admissible in admissible_sets(algorithm).items():
        values = [one.get(name, default[name]) for one in settings for _ in range(copies)]
        columns[name] = stacked(values) if isinstance(admissible, Interval) else values[0]
        one = isinstance(admissible, Interval) or len(set(values)) == 1
        need = "one value in all settings"
        require(one, name, list(dict.fromkeys(values)), need, "sweep once for each")
    return algorithm(**columns)
