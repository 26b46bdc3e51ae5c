"""`tune`: choose hyper-parameters on some seeds, report them on others."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from gossamer.algorithms import Algorithm
from gossamer.errors import whole
from gossamer.executors import as_executor
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation._simulate import run_seeds
from gossamer.simulation._sweep import (
    Grid,
    Strategy,
    halving_rule,
    judged_metrics,
    list_settings,
    require_class,
    run_settings,
)
from gossamer.simulation.clock import Clock
from gossamer.simulation.edges import Edge, grid_edges, settings_beyond
from gossamer.simulation.halving import Halving, HalvingBeside
from gossamer.simulation.metrics import Measure
from gossamer.simulation.run import Run
from gossamer.simulation.runner import OnRecord, Resources
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.simulation import Simulation, list_seeds
from gossamer.simulation.store import Store, as_store
from gossamer.simulation.sweep_record import Sweep
from gossamer.simulation.tuning_seeds import list_tuning_seeds
from gossamer.simulation.words import lines, show_list
from gossamer.text import counted, listing

EXTENSIONS = 3
"""How many times a search set that nobody chose is extended."""


class OnTheEdge(UserWarning):
    """The warning that the best setting of a search has the lowest or highest value tried."""


@dataclass(frozen=True, repr=False)
class Tuned:
    """The result of `tune`: a search, and the chosen setting on seeds the search did not use."""

    search: Sweep
    """All settings that were tried, on the tuning seeds."""

    run: Run
    """The chosen setting, on the seeds to report."""

    edges: Mapping[str, Edge]
    """Hyper-parameter → "lowest" or "highest", if the chosen value is the lowest or highest tried.

    Values beyond it may be better. The least admissible value, e.g. momentum 0, is not listed,
    since nothing lies beyond it.
    """

    extended: Mapping[str, Sequence[float]]
    """Hyper-parameter → the values tried beyond the original grid, in the order of the trials."""

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The chosen hyper-parameters, ready for the method's constructor."""
        return self.run.hyperparameters

    @property
    def score(self) -> float:
        """The lowest score of the search, which is the score of the chosen setting.

        The chosen setting may have been lucky on the tuning seeds, so expect a higher score on
        other seeds.
        """
        return float(self.search.scores().min())

    @property
    def budget(self) -> str:
        """How many settings, seeds and steps the search took, in words."""
        settings, seeds = self.search.diverged_at.shape
        tried = f"{counted(settings, 'setting')} × {counted(seeds, 'seed')}"
        return f"{tried}, {counted(self.search.run_steps, 'step')}"

    @property
    def at_the_edge(self) -> str:
        """How the search was extended, and which chosen values still lie on the edge, in words.

        Empty if the search was not extended and no chosen value lies on the edge.
        """
        added = [f"the {k} grid was extended to {show_list(v)}" for k, v in self.extended.items()]
        beyond: dict[Edge, str] = {"lowest": "lower", "highest": "higher"}
        still = [
            f"{self._ends_at(edge)}, and {beyond[edge]} values may do better"
            for edge in dict.fromkeys(self.edges.values())
        ]
        return "; ".join(added + still)

    def _ends_at(self, edge: Edge) -> str:
        """Which chosen values are the lowest or the highest that were tried, as half a sentence."""
        there = [name for name, found in self.edges.items() if found == edge]
        said = f"is the {edge} value" if len(there) == 1 else f"are the {edge} values"
        return f"{listing(there)} {said} tried"

    def facts(self) -> dict[str, str]:
        """What `Run.facts` says of the reported runs, and the extent of the search, in words."""
        found = {"tuned": f"{self.budget}, {self.search.config['strategy']} search"}
        edge = {"edge": self.at_the_edge} if self.at_the_edge else {}
        return self.run.facts() | found | edge

    def __repr__(self) -> str:
        return lines(self.run.title, self.facts())

    def _repr_html_(self) -> str:
        """In notebooks: the facts beside the search."""
        from gossamer.display import beside, facts, picture

        searched = picture(lambda ax: self.search.plot(ax=ax), f"search for {self.run.label}")
        return beside(facts(self.run.title, self.facts()), searched)


def tune(
    algorithm: type[Algorithm[Any]],
    problem: Problem,
    network: Network,
    *,
    grid: Grid | None = None,
    extensions: int | None = None,
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
    """Choose hyper-parameters on some seeds, then run the chosen setting on other seeds.

    Arguments that are not listed here are those of `sweep`.

    Args:
        grid: what to search; by default the method's `search_set`.
        extensions: how many times, at most, the search is extended. As long as the best setting
            lies at the lowest or highest value that was tried for some hyper-parameter, further
            values are added beyond it, with the same spacing as in the grid. By default 3 for a
            `search_set` and 0 for a grid of your own. See `Tuned.extended` and `Tuned.edges`.
        seeds: the seeds to report, which the search does not use; as in `simulate`, a number is one
            seed.
        tuning_seeds: the seeds of the search, by default 1,000,000 and 1,000,001, whichever seeds
            are reported. So with more `seeds` the same hyper-parameters are chosen.
        strategy: as in `sweep`, but by default "halving".
        metrics: what the reported runs record, by default only `judge_by`, which comes first in
            any case. The search records only `judge_by`.
        search_dtype: precision of the search, by default `dtype`. float32 takes half the time, and
            is enough if the noise limits the error more than rounding does.

    >>> import gossamer as gs
    >>> problem = gs.Quadratic(8, 4)
    >>> found = gs.tune(gs.DSGD, problem, gs.ring(8), noise=gs.Gaussian(0.1), steps=400)
    >>> found.hyperparameters, found.edges
    ({'lr': 0.05}, {})
    """
    reported = list_seeds(seeds)
    how = (extensions, strategy, tuning_seeds, reported, search_dtype)
    plan = search_plan(algorithm, grid, *how)
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
    return tuned(simulation, plan, reported, resources)


class SearchPlan(NamedTuple):
    """How hyper-parameters are chosen."""

    algorithm: type[Algorithm[Any]]

    grid: Grid | None
    """None is the method's `search_set`."""

    extensions: int
    halving: Halving | None
    seeds: Sequence[int]

    dtype: torch.dtype | None = None
    """Its precision, if it is not that of the reported runs."""


def search_plan(
    algorithm: type[Algorithm[Any]],
    grid: Grid | None,
    extensions: int | None,
    strategy: Strategy | Halving,
    tuning_seeds: int | Iterable[int] | None,
    reported: list[int],
    dtype: torch.dtype | None,
) -> SearchPlan:
    """The search that these arguments of `tune` describe."""
    require_class(algorithm)
    by_default = EXTENSIONS if grid is None else 0
    limit = by_default if extensions is None else whole("extensions", extensions, 0)
    seeds = list_tuning_seeds(tuning_seeds, reported)
    return SearchPlan(algorithm, grid, limit, halving_rule(strategy), seeds, dtype)


def tuned(
    simulation: Simulation, plan: SearchPlan, seeds: Sequence[int], resources: Resources
) -> Tuned:
    """`tune`, of a simulation that is described; judged by the first of its metrics."""
    assert simulation.metrics
    dtype = simulation.dtype if plan.dtype is None else plan.dtype
    searching = replace(simulation, metrics=simulation.metrics[:1], dtype=dtype, keep_x=False)
    settings, swept, extended = extended_sweep(searching, plan, resources)
    chosen = plan.algorithm(**settings[swept.best_setting()])
    run = run_seeds(simulation, chosen, seeds, resources)
    found = Tuned(swept, run, grid_edges(settings, chosen), extended)
    if found.edges and plan.grid is None:
        warnings.warn(f"{run.label}: {found.at_the_edge}", OnTheEdge, stacklevel=3)
    return found


def extended_sweep(
    simulation: Simulation, plan: SearchPlan, resources: Resources
) -> tuple[list[dict[str, Any]], Sweep, dict[str, list[float]]]:
    """All settings tried, their sweep, and what was tried beyond the grid.

    It goes on beyond the grid, while the best lies on its edge, as often as planned.
    """
    algorithm, halving = plan.algorithm, plan.halving
    grid = search_set(algorithm) if plan.grid is None else plan.grid
    settings = list_settings(algorithm, grid)
    swept = run_settings(simulation, algorithm, settings, plan.seeds, resources, halving)
    extended: dict[str, list[float]] = {}
    for _ in range(plan.extensions):
        further, added = settings_beyond(settings, algorithm(**settings[swept.best_setting()]))
        if not further:
            break
        listed, rule = list_settings(algorithm, further), _beside(swept, halving)
        found = run_settings(simulation, algorithm, listed, plan.seeds, resources, rule)
        settings, swept = settings + listed, swept.joined(found)
        extended = {k: [*extended.get(k, []), *added.get(k, [])] for k in extended | added}
    return settings, swept, extended


def _beside(search: Sweep, halving: Halving | None) -> Halving | None:
    """The rule by which further settings are judged: beside those of the search."""
    if halving is None:
        return None
    return HalvingBeside(halving.schedule, rivals=search.metrics[search.config["judge_by"]])
