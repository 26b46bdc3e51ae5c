"""`tune`: choose hyper-parameters on some seeds, report them on others."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import torch

from gossamer.algorithms import Algorithm, OneOf, admissible_sets
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation._simulate import simulate
from gossamer.simulation._sweep import Grid, Strategy, judged_metrics, sweep
from gossamer.simulation.clock import Clock
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import Measure
from gossamer.simulation.run import Run
from gossamer.simulation.runner import OnRecord
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.simulation import list_seeds, require_kind
from gossamer.simulation.store import Store, as_store
from gossamer.simulation.sweep_record import Sweep
from gossamer.simulation.words import lines, show_hyperparameters

Edge = Literal["lowest", "highest"]


@dataclass(frozen=True, repr=False)
class Tuned:
    """A search, and the setting it chose on seeds it has not seen."""

    search: Sweep
    """All settings, on the tuning seeds."""

    run: Run
    """The chosen setting, on the fresh seeds."""

    edges: Mapping[str, Edge]
    """The hyper-parameters chosen at the lowest or highest value tried: try further ones.

    Where the value is the least admissible one, e.g. momentum 0, nothing lies beyond.
    """

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """What was chosen, ready for the method's constructor."""
        return self.run.hyperparameters

    @property
    def score(self) -> float:
        """The lowest score of the search; that of a lucky setting, so lower than what to expect."""
        return float(self.search.scores().min())

    def __repr__(self) -> str:
        how, steps = self.search.config["strategy"], self.search.run_steps
        found = {"tuned": f"best of {len(self.search.settings)} settings by {how}, {steps:,} steps"}
        edges = [f"{name} is the {edge} value tried" for name, edge in self.edges.items()]
        on_edge = {"edge": ", ".join(edges)} if edges else {}
        title = f"{self.run.label} ({show_hyperparameters(self.hyperparameters)})"
        return lines(title, self.run.facts() | found | on_edge)


def tune(
    algorithm: type[Algorithm[Any]],
    problem: Problem,
    network: Network,
    *,
    grid: Grid | None = None,
    noise: Noise | None = None,
    steps: int,
    seeds: int | Iterable[int] = range(5),
    tuning_seeds: int | Iterable[int] | None = None,
    strategy: Strategy | Halving = "halving",
    judge_by: str | Measure | None = None,
    record_every: int | None = None,
    metrics: Sequence[str | Measure] | None = None,
    clock: Clock | None = None,
    dtype: torch.dtype = torch.float64,
    search_dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
    progress: bool | None = None,
    keep_x: bool = True,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    on_record: OnRecord | None = None,
) -> Tuned:
    """Choose hyper-parameters on the tuning seeds, then run the choice on the seeds to report.

    As `sweep`, except:

    Args:
        grid: by default the method's `search_set`.
        seeds: reported, never tuned on.
        tuning_seeds: chosen on, never reported; by default the two after the largest of `seeds`.
        strategy: by default "halving".
        metrics: recorded of the runs to report, `judge_by` first among them; the search records
            only `judge_by`.
        search_dtype: precision of the search, by default `dtype`. float32 takes half the time,
            and is enough where noise, not rounding, limits what is reached.

    >>> import gossamer as gs
    >>> problem = gs.Quadratic(8, 4)
    >>> found = gs.tune(gs.DSGD, problem, gs.ring(8), noise=gs.Gaussian(0.1), steps=400)
    >>> found.hyperparameters, found.edges
    ({'lr': 0.05}, {})
    """
    reported = list_seeds(seeds)
    chosen_on = _tuning_seeds(tuning_seeds, reported)
    require_kind("problem", problem, Problem, "gs.RobustRegression(20)")
    recorded = judged_metrics(problem, judge_by, metrics)
    shared: dict[str, Any] = {
        "noise": noise,
        "steps": steps,
        "record_every": record_every,
        "clock": clock,
        "device": device,
        "progress": progress,
        "store": as_store(store),
        "executor": executor,
        "on_record": on_record,
    }
    search = sweep(
        algorithm,
        search_set(algorithm) if grid is None else grid,
        problem,
        network,
        seeds=chosen_on,
        strategy=strategy,
        judge_by=recorded[0],
        dtype=dtype if search_dtype is None else search_dtype,
        keep_x=False,
        **shared,
    )
    chosen = algorithm(**search.best().hyperparameters)
    report: dict[str, Any] = {
        "seeds": reported,
        "metrics": recorded,
        "dtype": dtype,
        "keep_x": keep_x,
    }
    run = simulate(chosen, problem, network, **report, **shared)
    return Tuned(search, run, grid_edges(search.settings, chosen))


def _tuning_seeds(given: int | Iterable[int] | None, reported: list[int]) -> list[int]:
    if given is None:
        return [max(reported) + 1, max(reported) + 2]
    listed = list_seeds(given)
    both = sorted(set(listed) & set(reported))
    apart = "seeds that are not reported"
    require(not both, "tuning_seeds", f"{both} among them", apart, f"e.g. {max(reported) + 1}")
    return listed


def grid_edges(settings: Sequence[Mapping[str, Any]], chosen: Algorithm[Any]) -> dict[str, Edge]:
    """Which hyper-parameters of `chosen` are the lowest or highest of several tried.

    >>> from gossamer.algorithms import GTNSGDm
    >>> settings = [{"lr": lr, "momentum": 0.8} for lr in (0.01, 0.1, 1.0)]
    >>> grid_edges(settings, GTNSGDm(lr=1.0, momentum=0.8))
    {'lr': 'highest'}
    """
    found: dict[str, Edge] = {}
    for name, admissible in admissible_sets(type(chosen)).items():
        value, tried = getattr(chosen, name), {setting[name] for setting in settings}
        if len(tried) == 1 or isinstance(admissible, OneOf):
            continue
        if value == max(tried):
            found[name] = "highest"
        elif value == min(tried) and not admissible.begins_at(value):
            found[name] = "lowest"
    return found
