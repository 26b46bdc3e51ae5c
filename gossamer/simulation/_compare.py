"""`compare`: several methods on one problem and network, each as good as a search makes it."""

import math
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation._simulate import simulate
from gossamer.simulation._sweep import Grid, Strategy, judged_metrics, list_settings
from gossamer.simulation._tune import Tuned, tune
from gossamer.simulation.clock import Clock
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import COSTS, Measure, choose_metrics
from gossamer.simulation.picture import Against, draw_runs
from gossamer.simulation.run import Run
from gossamer.simulation.runner import OnRecord
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.simulation import list_seeds, require_kind, require_network
from gossamer.simulation.stack import Stack
from gossamer.simulation.store import Store, as_store
from gossamer.simulation.words import show_bytes, show_hyperparameters, show_seconds, spread
from gossamer.text import aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Method = Algorithm[Any] | type[Algorithm[Any]]
"""With its hyper-parameters, or the class of a method to be tuned."""


@dataclass(frozen=True)
class Entry:
    """One method of a comparison."""

    run: Run
    tuned: Tuned | None
    """The search for its hyper-parameters, None where they were given."""

    def final(self, metric: str) -> float:
        """The median over the seeds at the last step; ∞ if that is not finite."""
        value = statistics.median(self.run.final(metric).tolist())
        return value if math.isfinite(value) else math.inf


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods side by side; printed, a table with the lowest median first."""

    entries: Sequence[Entry]
    """In the order they were given."""

    def ranked(self, metric: str | None = None) -> list[Entry]:
        """The entries by the metric's final median, by default that they were tuned by."""
        name = self.metric if metric is None else metric
        return sorted(self.entries, key=lambda entry: entry.final(name))

    @property
    def metric(self) -> str:
        """What they were tuned by."""
        return self.entries[0].run.main_metric

    def table(self, metric: str | None = None) -> str:
        """Method, hyper-parameters, final metric and cost of each, the lowest median first."""
        name = self.metric if metric is None else metric
        costs = [cost for cost in COSTS if all(cost in one.run.metrics for one in self.entries)]
        head = ["method", "hyper-parameters", f"final {name}, median [range]"]
        head += [COST_COLUMNS[cost][0] for cost in costs]
        rows = [_row(entry, name, costs) for entry in self.ranked(name)]
        edges = [line for entry in self.entries for line in _edges(entry)]
        return "\n".join([*aligned([head, *rows]), *edges])

    def plot(
        self, metric: str | None = None, *, x: Against = "steps", ax: "Axes | None" = None
    ) -> "Axes":
        """Draw a metric of every method, by default that they were tuned by; see `Run.plot`."""
        runs = [(entry.run.title, entry.run) for entry in self.entries]
        return draw_runs(runs, self.metric if metric is None else metric, x, ax)

    def __repr__(self) -> str:
        return self.table()


COST_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "bytes": ("sent per node", show_bytes),
    "seconds": ("seconds", show_seconds),
}
"""Cost → the head of its column, and how it is written there."""


def _row(entry: Entry, metric: str, costs: Sequence[str]) -> list[str]:
    shown = show_hyperparameters(entry.run.hyperparameters)
    tuned = "" if entry.tuned is None else " (tuned)"
    spent = [COST_COLUMNS[cost][1](entry.final(cost)) for cost in costs]
    return [entry.run.label, shown + tuned, spread(entry.run.final(metric).tolist()), *spent]


def _edges(entry: Entry) -> list[str]:
    found = {} if entry.tuned is None else entry.tuned.edges
    return [
        f"{entry.run.label}: {name} is the {edge} value tried, further ones may do better"
        for name, edge in found.items()
    ]


def compare(
    methods: Sequence[Method],
    problem: Problem,
    network: Network,
    *,
    grids: Mapping[type[Algorithm[Any]], Grid] | None = None,
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
    """Tune methods on the same seeds and report them on the same fresh seeds, with the same noise.

    As `tune`, except:

    Args:
        methods: a class is tuned; an instance, e.g. `gs.DSGD(lr=0.1)`, is run as it is.
        grids: class → what to search instead of its `search_set`.

    >>> import gossamer as gs
    >>> problem, network = gs.Quadratic(8, 4), gs.ring(8)
    >>> methods = [gs.GTDSGD, gs.DSGD(lr=0.1)]
    >>> gs.compare(methods, problem, network, noise=gs.Gaussian(0.1), steps=200)
    method   hyper-parameters  final error, median [range]  sent per node
    GT-DSGD  lr = 0.1 (tuned)  0.0234 [0.0206, 0.0579]      25.6 kB
    DSGD     lr = 0.1          0.0947 [0.091, 0.104]        12.8 kB
    """
    require_kind("problem", problem, Problem, "gs.RobustRegression(20)")
    require_network(network)
    require(len(methods) > 0, "methods", methods, "at least one", "e.g. [gs.GTNSGDm, gs.DSGD]")
    recorded = judged_metrics(problem, judge_by, metrics)
    grids = {} if grids is None else grids
    examples = [example(method, grids) for method in methods]
    require_measurable(recorded, examples, problem, network, dtype, device)
    shared: dict[str, Any] = {
        "noise": noise,
        "steps": steps,
        "seeds": list_seeds(seeds),
        "record_every": record_every,
        "metrics": recorded,
        "clock": clock,
        "dtype": dtype,
        "device": device,
        "progress": progress,
        "store": as_store(store),
        "executor": executor,
        "on_record": on_record,
        "keep_x": keep_x,
    }
    searched = {"tuning_seeds": tuning_seeds, "strategy": strategy, "search_dtype": search_dtype}

    def entry(method: Method) -> Entry:
        if isinstance(method, Algorithm):
            return Entry(simulate(method, problem, network, **shared), None)
        options = shared | searched | {"judge_by": recorded[0], "grid": grids.get(method)}
        found = tune(method, problem, network, **options)
        return Entry(found.run, found)

    if executor is None:
        return Comparison([entry(method) for method in methods])
    with ThreadPoolExecutor(len(methods)) as all_at_once:  # they wait for the executor's workers
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
