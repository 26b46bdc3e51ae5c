"""What the Transformer experiments share: the corpus, the problem, training and reporting."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.data import Corpus, multi30k, zipf_corpus
from gossamer.experiments import Result, SizeName
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


@dataclass(frozen=True)
class Multi30k:
    """The English captions of Multi30k."""

    def corpus(self, seed: int) -> Corpus:
        """The text, the same for every seed."""
        return _read_multi30k()


@dataclass(frozen=True)
class Zipf:
    """Artificial text, whose word frequencies fall as those of a language."""

    tokens: int
    types: int

    def corpus(self, seed: int) -> Corpus:
        """The text of a seed."""
        return zipf_corpus(self.tokens, num_types=self.types, seed=seed)


@cache
def _read_multi30k() -> Corpus:
    return multi30k()


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
    text: Multi30k | Zipf = Multi30k()  # frozen, without fields
    seed: int = 0

    dtype: torch.dtype = torch.float32
    """Of parameters and updates."""

    products: torch.dtype = torch.bfloat16
    """Of matrix products."""

    @property
    def corpus(self) -> Corpus:
        """The text."""
        return self.text.corpus(self.seed)

    def problem(self, device: str) -> LanguageProblem:
        """The problem, on `device`; one for all units of a study."""
        return _problem(self, device)

    def steps(self, device: str) -> int:
        """T: the steps of all epochs."""
        return self.epochs * self.problem(device).steps_per_epoch


@cache
def _problem(task: Task, device: str) -> LanguageProblem:
    return LanguageProblem(
        task.corpus,
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
        seed=task.seed,
        autocast=None if task.products == task.dtype else task.products,
    ).to(device, task.dtype)


@dataclass(frozen=True)
class Size:
    """How large the language study is: what is replaced in its tasks, and how much is searched."""

    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    settings: int | None = None
    """How many of a search set are tried, evenly spread; None takes all."""

    fresh_seeds: int = 5

    def task(self, task: Task, seed: int) -> Task:
        """The task at this size."""
        return dataclasses.replace(task, seed=seed, **self.changes)

    def searched(self, settings: Sequence[dict[str, float]]) -> tuple[dict[str, float], ...]:
        """The settings to try."""
        every = 1 if self.settings is None else -(-len(settings) // self.settings)
        return tuple(settings[::every])


SMALL = {
    "text": Zipf(tokens=8_000, types=200),
    "stride": 8,
    "epochs": 3,
    "batch_size": 16,
    "context": 16,
    "width": 32,
    "heads": 2,
    "layers": 1,
    "products": torch.float32,
}
"""The tasks on artificial text, for a first look within minutes."""

TINY = {**SMALL, "text": Zipf(tokens=800, types=20), "batch_size": 4, "context": 8, "width": 8}

SIZES: dict[SizeName, Size] = {
    "test": Size(TINY, settings=2, fresh_seeds=2),
    "quick": Size(SMALL, settings=8),
    "full": Size(),
}


def train(
    method: Algorithm[Any],
    task: Task,
    network: Network,
    seeds: Sequence[int],
    records: int,
    device: str,
    *,
    keep_x: bool = False,
) -> Run:
    """Train on the task, all seeds together."""
    arguments = simulation(task, records, device)
    problem = task.problem(device)
    return simulate(method, problem, network, seeds=seeds, keep_x=keep_x, **arguments)


def simulation(task: Task, records: int, device: str) -> dict[str, Any]:
    """What every simulation of a task has in common."""
    steps = task.steps(device)
    return {
        "steps": steps,
        "record_every": max(1, steps // records),
        "metrics": ["validation_loss"],
        "dtype": task.dtype,
        "device": device,
    }


def curves(run: Run) -> Result:
    """The validation losses of a run along its steps, rounded for storage."""
    return {
        "steps": run.steps.tolist(),
        "validation_loss": [
            [round(v, 5) for v in row] for row in run.metrics["validation_loss"].tolist()
        ],
    }


def final_losses(curve: Result) -> list[float]:
    """The last recorded validation loss of every seed."""
    return list(curve["validation_loss"][-1])


def mean_loss(curve: Result) -> float:
    """Their mean, as the paper reports it."""
    return statistics.fmean(final_losses(curve))
