"""What the Transformer experiments share: the corpus, the problem, tuning and reporting."""

import dataclasses
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.data import Corpus, multi30k, zipf_corpus
from gossamer.experiments.experiment import Options, Result, Unit
from gossamer.experiments.grids import TRANSFORMER, Settings
from gossamer.experiments.synthetic import fresh_seeds
from gossamer.networks import Network, complete, exponential, ring
from gossamer.problems.language import LanguageProblem, Protocol
from gossamer.simulate import Halving, Run, Sweep, simulate, sweep

NODES = 8

NETWORKS: dict[str, Network] = {
    "ring": ring(NODES),
    "directed exponential": exponential(NODES),
    "complete": complete(NODES),
}

DTYPE = torch.float32
"""Of parameters and updates; on CUDA matrix products are in bfloat16."""

ENDED_EARLY = ((1 / 8, 0.6), (1 / 4, 0.45))
"""Share of T, share of the settings that goes on in the search on one node."""

ENDED_EARLY_OF_HUNDREDS = ((1 / 16, 0.5), (1 / 8, 0.3), (1 / 4, 0.15))
"""The same for a set of hundreds of settings."""

HUNDREDS = 100
FINALISTS = 3
"""Settings that are compared on the ring."""

RECORDS = 32


@dataclass(frozen=True)
class Task:
    """A language-modelling task, from which its problem is built."""

    protocol: Protocol
    stride: int
    epochs: int
    num_nodes: int = NODES
    batch_size: int = 64
    dropout: float = 0.0
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2

    def small(self) -> "Task":
        """The same task on the embedded text, for a first look within minutes."""
        sizes: dict[str, Any] = {"context": 16, "width": 32, "heads": 2, "layers": 1}
        return Task(self.protocol, 8, 3, self.num_nodes, 16, self.dropout, **sizes)


def task_of(options: Options, task: Task) -> Task:
    """The task at the size of the study."""
    return task if options.full else task.small()


@cache
def corpus(options: Options) -> Corpus:
    """Multi30k, or artificial text for the quick study."""
    return multi30k() if options.full else zipf_corpus(8_000, num_types=200, seed=options.seed)


@cache
def problem(options: Options, task: Task) -> LanguageProblem:
    """The problem, where it is simulated; one for all units of a study."""
    return LanguageProblem(
        corpus(options),
        task.num_nodes,
        protocol=task.protocol,
        stride=task.stride,
        batch_size=task.batch_size,
        context=task.context,
        width=task.width,
        heads=task.heads,
        layers=task.layers,
        dropout=task.dropout,
        seed=options.seed,
        autocast=torch.bfloat16 if options.device == "cuda" else None,
    ).to(DTYPE, options.device)


def tuning_seeds(options: Options) -> list[int]:
    """The seed that hyper-parameters are chosen on, never reported."""
    return [1000 * options.seed + 500]


def searched(options: Options, settings: Settings) -> Settings:
    """The settings to try: all, or at most eight of them, evenly spread, in the quick study."""
    return settings if options.full else settings[:: -(-len(settings) // 8)]


def data_facts(options: Options) -> Result:
    """What every configuration says of the data."""
    return {"corpus": "multi30k" if options.full else "zipf", "data_seed": options.seed}


def tuned_unit(
    name: str,
    method: str,
    task: Task,
    networks: Mapping[str, Network],
    options: Options,
    facts: Result,
) -> Unit:
    """A method tuned and then trained on every network; `facts` complete its configuration."""
    algorithm, settings = TRANSFORMER[method]
    settings = searched(options, settings)
    config = {
        **data_facts(options),
        **facts,
        "method": method,
        "settings": settings,
        "task": vars(task_of(options, task)),
        "tuning_seeds": tuning_seeds(options),
        "fresh_seeds": fresh_seeds(options),
    }
    return Unit(name, config, partial(tune_and_train, algorithm, settings, task, networks, options))


def tune_and_train(
    algorithm: type[Algorithm[Any]],
    settings: Settings,
    task: Task,
    networks: Mapping[str, Network],
    options: Options,
) -> Result:
    """Choose the hyper-parameters, then train on every network with the fresh seeds."""
    began = time.perf_counter()
    task = task_of(options, task)
    steps = task.epochs * problem(options, task).steps_per_epoch
    central = search_on_one_node(algorithm, settings, task, steps, options)
    ring, seeds = networks["ring"], tuning_seeds(options)
    language, arguments = problem(options, task), _arguments(options, steps, RECORDS)
    compared = sweep(algorithm, best_of(central), language, ring, seeds=seeds, **arguments)
    chosen = compared.best().hyperparameters
    runs = {
        name: simulate(
            algorithm(**chosen), language, network, seeds=fresh_seeds(options), **arguments
        )
        for name, network in networks.items()
    }
    return {
        "search": {"hyperparameters": chosen, **_search(central, compared)},
        "networks": {name: _curves(run) for name, run in runs.items()},
        "steps": steps,
        "steps_per_epoch": language.steps_per_epoch,
        "machine": machine(options),
        "seconds": round(time.perf_counter() - began, 1),
    }


def search_on_one_node(
    algorithm: type[Algorithm[Any]], settings: Settings, task: Task, steps: int, options: Options
) -> Sweep:
    """All settings on one node that holds all data: the central method, at 1/n of the cost.

    Its batches have the size of one node's, and there is no dropout. Halving ends what has not
    even learnt the frequencies of words. It ranks by the loss as it is: a loss that stays on a
    plateau and then falls cannot be extrapolated.
    """
    central = problem(options, dataclasses.replace(task, num_nodes=1, dropout=0.0))
    few = len(settings) <= HUNDREDS
    rule = Halving(1, ENDED_EARLY if few else ENDED_EARLY_OF_HUNDREDS, extrapolate=False)
    seeds, arguments = tuning_seeds(options), _arguments(options, steps, RECORDS // 2)
    return sweep(algorithm, settings, central, complete(1), seeds=seeds, strategy=rule, **arguments)


def best_of(found: Sweep) -> list[dict[str, Any]]:
    """The settings with the lowest scores."""
    return [dict(found.settings[int(i)]) for i in found.scores().argsort()[:FINALISTS]]


def _arguments(options: Options, steps: int, records: int) -> dict[str, Any]:
    """What every simulation of the study has in common."""
    return {
        "steps": steps,
        "record_every": max(1, steps // records),
        "metrics": ["validation_loss"],
        "dtype": DTYPE,
        "device": options.device,
        "keep_x": False,
    }


def _search(central: Sweep, compared: Sweep) -> Result:
    """What the search cost, and every setting that reached the end."""
    return {
        "settings": len(central.settings),
        "run_steps_on_one_node": int(central.stacked.steps_taken.sum()),
        "run_steps": int(compared.stacked.steps_taken.sum()),
        "on_one_node": _scores(central),
        "on_the_ring": _scores(compared),
    }


def _scores(found: Sweep) -> list[Result]:
    """Hyper-parameters and validation loss of the settings that reached the end, best first."""
    scores = found.scores()
    finished = [int(i) for i in scores.argsort() if scores[i].isfinite()]
    return [{**found.settings[i], "validation_loss": round(float(scores[i]), 5)} for i in finished]


def _curves(run: Run) -> Result:
    return {
        "steps": run.steps.tolist(),
        "validation_loss": [
            [round(v, 5) for v in row] for row in run.metrics["validation_loss"].tolist()
        ],
    }


def machine(options: Options) -> str:
    """What the study ran on, in words."""
    return torch.cuda.get_device_name() if options.device == "cuda" else "CPU"


def final_losses(curve: Result) -> list[float]:
    """The last recorded validation loss of every seed."""
    return list(curve["validation_loss"][-1])


def mean_loss(curve: Result) -> float:
    """Their mean, as the paper reports it."""
    return statistics.fmean(final_losses(curve))


def mean_and_deviation(values: Sequence[float]) -> str:
    """As "0.258 ± 0.007"; the deviation of a sample."""
    return f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"
