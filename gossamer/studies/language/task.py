"""What the Transformer experiments share: the corpus, the problem, training and reporting."""

import dataclasses
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.data import Corpus, multi30k, tiny_shakespeare, zipf_corpus
from gossamer.experiments import Result, SizeName
from gossamer.models.gpt import Style
from gossamer.networks import Network, complete, exponential, ring
from gossamer.noise import Noise
from gossamer.problems.language import LanguageProblem, LanguageProtocol
from gossamer.provenance import device_name
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
class TinyShakespeare:
    """The characters of Tiny Shakespeare."""

    def corpus(self, seed: int) -> Corpus:
        """The text, the same for every seed."""
        return _read_tiny_shakespeare()


@dataclass(frozen=True)
class Zipf:
    """Artificial text, whose word frequencies fall as those of a language."""

    tokens: int
    types: int

    def corpus(self, seed: int) -> Corpus:
        """The text of a seed."""
        return zipf_corpus(self.tokens, num_types=self.types, seed=seed)


Text = Multi30k | TinyShakespeare | Zipf


@dataclass(frozen=True)
class Sorted:
    """A text whose training part is cut into pieces and sorted, so that nodes hold unlike ones."""

    text: Text

    end: tuple[str, ...]
    """The words that end a piece."""

    def corpus(self, seed: int) -> Corpus:
        """The sorted text; vocabulary and validation part are untouched."""
        return _sort(self.text.corpus(seed), self.end)


@cache
def _read_multi30k() -> Corpus:
    return multi30k()


@cache
def _read_tiny_shakespeare() -> Corpus:
    return tiny_shakespeare()


def _sort(corpus: Corpus, end: tuple[str, ...]) -> Corpus:
    known = corpus.vocabulary
    in_order = sorted(pieces(known.decode(corpus.train), end))
    train = known.encode(word for piece in in_order for word in piece)
    return dataclasses.replace(corpus, name=f"{corpus.name}, sorted", train=train)


def pieces(words: Sequence[str], end: tuple[str, ...]) -> Iterator[list[str]]:
    """The words cut after every occurrence of `end`.

    >>> list(pieces("b . a . c".split(), (".",)))
    [['b', '.'], ['a', '.'], ['c']]
    """
    piece: list[str] = []
    for word in words:
        piece.append(word)
        if tuple(piece[-len(end) :]) == end:
            yield piece
            piece = []
    if piece:
        yield piece


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
    text: Text | Sorted = Multi30k()  # frozen, without fields
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

    texts: Mapping[Any, Zipf] = dataclasses.field(default_factory=dict)
    """Text → the artificial one that stands in for it."""

    settings: int | None = None
    """How many of a search set are tried, evenly spread; None takes all."""

    fresh_seeds: int = 5

    def task(self, task: Task, seed: int) -> Task:
        """The task at this size."""
        text = self.texts.get(task.text, task.text)
        return dataclasses.replace(task, seed=seed, text=text, **self.changes)

    def searched(self, settings: Sequence[dict[str, float]]) -> tuple[dict[str, float], ...]:
        """The settings to try."""
        every = 1 if self.settings is None else -(-len(settings) // self.settings)
        return tuple(settings[::every])


SMALL = {
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

TINY = {**SMALL, "batch_size": 4, "context": 8, "width": 8}

WORDS, CHARACTERS = Multi30k(), TinyShakespeare()
FEWER = {WORDS: Zipf(tokens=8_000, types=200), CHARACTERS: Zipf(tokens=8_000, types=60)}
FEWEST = {WORDS: Zipf(tokens=800, types=20), CHARACTERS: Zipf(tokens=800, types=10)}

SIZES: dict[SizeName, Size] = {
    "test": Size(TINY, FEWEST, settings=2, fresh_seeds=2),
    "quick": Size(SMALL, FEWER, settings=8),
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
    noise: Noise | None = None,
    keep_x: bool = False,
) -> Run:
    """Train on the task, all seeds together."""
    arguments = {**simulation(task, records, device), "noise": noise, "keep_x": keep_x}
    return simulate(method, task.problem(device), network, seeds=seeds, **arguments)


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


def corpus_facts(task: Task, device: str) -> Result:
    """Sizes, and the validation loss of a model that knows the frequencies of words."""
    text = task.corpus
    return {
        "corpus": text.name,
        "train_tokens": len(text.train),
        "validation_tokens": len(text.validation),
        "vocabulary": len(text.vocabulary),
        "parameters": task.problem(device).dim,
        "unigram_loss": text.unigram_loss(),
    }


def machine(device: str, began: float) -> Result:
    """Where it was computed, and the seconds since `began`, a time of `time.perf_counter`."""
    return {"machine": device_name(device), "seconds": round(time.perf_counter() - began, 1)}


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


def mean_lowest_loss(curve: Result) -> float:
    """The lowest recorded validation loss of every seed, and the mean of these."""
    return statistics.fmean(min(run) for run in zip(*curve["validation_loss"], strict=True))
