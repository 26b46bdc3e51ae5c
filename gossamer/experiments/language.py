"""What the Transformer experiments share: the corpus, the problem, tuning and reporting."""

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.data import Corpus, multi30k, zipf_corpus
from gossamer.experiments.experiment import Options, Result
from gossamer.experiments.grids import Settings
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

HALVING = ((1 / 16, 0.5), (1 / 8, 0.25), (1 / 4, 0.12), (1 / 2, 0.06))
"""Share of T, share of the settings that goes on; costs 19 % of the full grid."""

HALVING_OF_HUNDREDS = ((1 / 32, 0.3), (1 / 16, 0.15), (1 / 8, 0.08), (1 / 4, 0.04), (1 / 2, 0.02))
"""The same for a grid of hundreds of settings, at 8 %."""

BRACKET = 128
"""Most settings that are held at once; a larger set is searched in parts, each with its best."""

RECORDS = 64


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


def tune_and_train(
    algorithm: type[Algorithm[Any]],
    settings: Settings,
    task: Task,
    networks: Mapping[str, Network],
    options: Options,
) -> Result:
    """Choose on the ring with a tuning seed, then train on every network with the fresh seeds."""
    began = time.perf_counter()
    task = task_of(options, task)
    language = problem(options, task)
    steps = task.epochs * language.steps_per_epoch
    arguments: dict[str, Any] = {
        "steps": steps,
        "record_every": max(1, steps // RECORDS),
        "metrics": ["validation_loss"],
        "dtype": DTYPE,
        "device": options.device,
        "keep_x": False,
    }
    schedule = HALVING if len(settings) <= BRACKET else HALVING_OF_HUNDREDS
    rule, ring, seeds = Halving(1, schedule), networks["ring"], tuning_seeds(options)
    found = [
        sweep(algorithm, part, language, ring, seeds=seeds, strategy=rule, **arguments)
        for part in brackets(settings)
    ]
    best = min(found, key=lambda part: float(part.scores().min())).best()
    chosen = algorithm(**best.hyperparameters)
    runs = {
        name: simulate(chosen, language, network, seeds=fresh_seeds(options), **arguments)
        for name, network in networks.items()
    }
    return {
        "search": {"hyperparameters": best.hyperparameters, **_search(found)},
        "networks": {name: _curves(run) for name, run in runs.items()},
        "steps": steps,
        "steps_per_epoch": language.steps_per_epoch,
        "machine": machine(options),
        "seconds": round(time.perf_counter() - began, 1),
    }


def brackets(settings: Settings) -> list[Settings]:
    """The settings in parts of at most `BRACKET`, each spread over all of them.

    >>> [len(part) for part in brackets([{"lr": 0.1}] * 448)]
    [112, 112, 112, 112]
    """
    count = -(-len(settings) // BRACKET)
    return [settings[k::count] for k in range(count)]


def _search(found: Sequence[Sweep]) -> Result:
    """What the search cost, and every setting that reached the end, the best first."""
    finished = [
        {**setting, "validation_loss": float(score)}
        for part in found
        for setting, score in zip(part.settings, part.scores(), strict=True)
        if score.isfinite()
    ]
    return {
        "settings": sum(len(part.settings) for part in found),
        "run_steps": sum(int(part.stacked.steps_taken.sum()) for part in found),
        "finished": sorted(finished, key=lambda setting: setting["validation_loss"]),
    }


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
