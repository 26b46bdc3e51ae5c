"""`compare`: several methods on one problem and network, each as good as a search makes it."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.executors import Lent, as_executor, worker_count
from gossamer.kinds import require_network, require_problem
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.progress import several
from gossamer.simulation._simulate import run_seeds
from gossamer.simulation._sweep import Grid, Strategy, as_lists, judged_metrics, list_settings
from gossamer.simulation._tune import OnTheEdge, search_plan, tuned
from gossamer.simulation.clock import Clock
from gossamer.simulation.comparison import Comparison, Entry
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import Measure, choose_metrics
from gossamer.simulation.runner import OnRecord, Resources
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.simulation import Simulation, list_seeds
from gossamer.simulation.stack import Stack
from gossamer.simulation.store import Store, as_store

Method = Algorithm[Any] | type[Algorithm[Any]]
"""With its hyper-parameters, or the class of a method to be tuned."""


def compare(
    methods: Sequence[Method],
    problem: Problem,
    network: Network,
    *,
    grids: Mapping[type[Algorithm[Any]], Grid] | None = None,
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
    keep_x: bool = False,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    on_record: OnRecord | None = None,
) -> Comparison:
    """Compare methods on the same seeds, with the same noise, after tuning them on other seeds.

    Arguments that are not listed here are those of `tune`.

    Args:
        methods: classes, which are tuned, and instances, e.g. `gs.DSGD(lr=0.1)`, which are run as
            they are.
        grids: class → the grid to search instead of its `search_set`.

    >>> import gossamer as gs
    >>> problem, network = gs.Quadratic(8, 4), gs.ring(8)
    >>> methods = [gs.GTDSGD, gs.DSGD(lr=0.1)]
    >>> gs.compare(methods, problem, network, noise=gs.Gaussian(0.1), steps=200)
    method   hyper-parameters  final error, median [range]  messages  sent per node
    GT-DSGD  lr = 0.1 (tuned)  0.0234 [0.0206, 0.0579]      800       25.6 kB
    DSGD     lr = 0.1          0.0947 [0.091, 0.104]        400       12.8 kB
    The same for all methods, per node: 200 gradients.
    GT-DSGD: tuned over 13 settings × 2 seeds, 1,620 steps
    """
    require_problem(problem)
    require_network(network)
    some = isinstance(methods, Sequence) and len(methods) > 0
    require(some, "methods", repr(methods), "a list of them", "e.g. [gs.GTNSGDm, gs.DSGD]")
    recorded = judged_metrics(problem, judge_by, metrics)
    grids = {method: as_lists(grid) for method, grid in (grids or {}).items()}
    unused = [key for key in grids if key not in methods]
    need = "classes among the methods that are tuned"
    require(not unused, "grids", repr(unused), need, "e.g. grids={gs.DSGD: {'lr': [0.1, 1.0]}}")
    examples = [example(method, grids) for method in methods]
    reported = list_seeds(seeds)
    executor = as_executor(executor)
    lent = Lent(executor) if executor is not None and worker_count(executor) > 1 else None
    resources = Resources(as_store(store), lent or executor, on_record)
    simulation = Simulation(
        problem=problem,
        network=network,
        noise=noise,
        steps=steps,
        record_every=record_every,
        metrics=recorded,
        clock=clock,
        dtype=dtype,
        device=device,
        progress=progress,
        keep_x=keep_x,
        alike=resources.alike,
    )
    require_measurable(recorded, examples, problem, network, dtype, device)

    def entry(method: Method) -> Entry:
        with one(type(method).label if isinstance(method, Algorithm) else method.label):
            if isinstance(method, Algorithm):
                return Entry(run_seeds(simulation, method, reported, resources), None)
            how = (extensions, strategy, tuning_seeds, reported, search_dtype)
            plan = search_plan(method, grids.get(method), *how)
            found = tuned(simulation, plan, reported, resources)
            return Entry(found.run, found)

    with warnings.catch_warnings(), several("compare", len(methods), progress) as one:
        warnings.simplefilter("ignore", OnTheEdge)  # the table says it
        if lent is None:
            return Comparison([entry(method) for method in methods])
        with ThreadPoolExecutor(len(methods)) as all_at_once, lent:  # they wait for the workers
            return Comparison(list(all_at_once.map(entry, methods)))


def require_measurable(
    metrics: Sequence[str | Measure],
    methods: Sequence[Algorithm[Any]],
    problem: Problem,
    network: Network,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> None:
    """Refuse, before any work, metrics that do not exist for all methods."""
    problem = problem.to(device, dtype)
    for method in methods:
        choose_metrics(metrics, Stack(method, problem, network, None, [0], dtype, device))


def example(
    method: Method, grids: Mapping[type[Algorithm[Any]], Grid] | None = None
) -> Algorithm[Any]:
    """The method, of a class the one with the first hyper-parameters of its search."""
    if isinstance(method, Algorithm):
        return method
    is_method = isinstance(method, type) and issubclass(method, Algorithm)
    require(is_method, "methods", repr(method), "methods or their classes", "e.g. gs.GTNSGDm")
    grid = (grids or {}).get(method, search_set(method))
    return method(**list_settings(method, grid)[0])
