"""What the Transformer experiments share: the corpus, the problem, training and reporting."""

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.data import Corpus, multi30k, zipf_corpus
from gossamer.experiments.experiment import Options, Result
from gossamer.models.gpt import Style
from gossamer.networks import Network, complete, exponential, ring
from gossamer.problems.language import LanguageProblem, LanguageProtocol
from gossamer.simulation import Run, simulate

NODES = 8

NETWORKS: dict[str, Network] = {
    "ring": ring(NODES),
    "directed exponential": exponential(NODES),
    "complete": complete(NODES),
}

DTYPE = torch.float32
"""Of parameters and updates; on CUDA matrix products are in bfloat16."""

RECORDS = 32


@dataclass(frozen=True)
class Task:
    """A language-modelling task, from which its problem is built."""

    protocol: LanguageProtocol
    stride: int
    epochs: int
    num_nodes: int = NODES
    batch_size: int = 64
    dropout: float = 0.0
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 2
    style: Style = "gpt"

    def small(self) -> "Task":
        """The same task on the embedded text, for a first look within minutes."""
        data: dict[str, Any] = {"stride": 8, "epochs": 3, "batch_size": 16}
        sizes: dict[str, Any] = {"context": 16, "width": 32, "heads": 2, "layers": 1}
        return dataclasses.replace(self, **data, **sizes)


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
        style=task.style,
        seed=options.seed,
        autocast=torch.bfloat16 if options.device == "cuda" else None,
    ).to(options.device, DTYPE)


def data_facts(options: Options) -> Result:
    """What every configuration says of the data."""
    return {"corpus": "multi30k" if options.full else "zipf", "data_seed": options.seed}


def train(
    method: Algorithm[Any],
    task: Task,
    network: Network,
    seeds: Sequence[int],
    options: Options,
    *,
    keep_x: bool = False,
) -> Run:
    """Train on the task, all seeds together."""
    arguments = simulation(options, steps_of(task, options), RECORDS, keep_x)
    return simulate(method, problem(options, task), network, seeds=seeds, **arguments)


def steps_of(task: Task, options: Options) -> int:
    """T: the steps of all epochs."""
    return task.epochs * problem(options, task).steps_per_epoch


def simulation(options: Options, steps: int, records: int, keep_x: bool = False) -> dict[str, Any]:
    """What every simulation of the study has in common."""
    return {
        "steps": steps,
        "record_every": max(1, steps // records),
        "metrics": ["validation_loss"],
        "dtype": DTYPE,
        "device": options.device,
        "keep_x": keep_x,
    }


def curves(run: Run) -> Result:
    """The validation losses of a run along its steps, rounded for storage."""
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
