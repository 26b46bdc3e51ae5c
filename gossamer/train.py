"""Train a model on real processes, by names; `gossamer train --help` says how."""

import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from gossamer.data import BatchOrder, TokenWindows, corpus_from_file, token_shard
from gossamer.data.samples import Samples, TensorSamples
from gossamer.distributed import Checkpoints, DecentralizedOptimizer, join
from gossamer.errors import InvalidInput, require
from gossamer.progress import progress
from gossamer.seeding import stream
from gossamer.train_config import (
    MESSAGES,
    TrainConfig,
    config_of,
    make_algorithm,
    make_network,
    read_arguments,
    require_sound,
)

HELD_OUT = 0.1
"""Share of the data kept for validation."""
CONTEXT, STRIDE = 64, 32
"""Tokens in a window of text, and from the start of one to the start of the next."""


class Data(NamedTuple):
    """What one node learns from, what its model is judged on, and how many answers there are."""

    shard: Samples
    held_out: tuple[Tensor, Tensor]
    classes: int


def train(**options: Any) -> dict[str, float]:
    """`run` with the options of `TrainConfig`; other names are the algorithm's hyper-parameters.

    >>> result = train(data="blobs", steps=20, lr=0.1, momentum=0.8)
    step 20  loss ...
    >>> result["step"], result["validation_loss"] < 1.0
    (20, True)
    """
    return run(config_of(**options))


def run(config: TrainConfig) -> dict[str, float]:
    """Train as this process's rank; returns the last numbers reported, the same on all ranks.

    The batch of step t is the one that a simulation of the same seed gives this node.
    """
    require_sound(config)
    rank = join(config.timeout)
    data = load_data(config, rank, dist.get_world_size() if dist.is_initialized() else 1)
    model = make_model(config, data)
    optimizer = make_optimizer(config, model)
    order = BatchOrder(len(data.shard), config.batch_size, config.seed, rank)
    checkpoints = config.checkpoints and Checkpoints(config.checkpoints, optimizer)
    start = checkpoints.resume() if checkpoints else 0
    _require_same_method(config, optimizer)
    report = Report(config, optimizer, model, data)
    with progress("train", config.steps, show=None if rank == 0 else False) as advance:
        advance(start)
        while optimizer.steps < config.steps:
            optimizer.zero_grad()
            loss = loss_of(model, *data.shard[order.at(optimizer.steps)])
            loss.backward()
            optimizer.step()
            advance(1)
            last = optimizer.steps == config.steps
            if checkpoints and (last or optimizer.steps % config.save_every == 0):
                checkpoints.save()
            if last or optimizer.steps % config.log_every == 0:
                report.write(float(loss.detach()))
    if not report.last:  # resumed at the end
        report.write(loss=float("nan"))
    return report.last


class Report:
    """The numbers of a run, on rank 0's terminal and in TensorBoard."""

    def __init__(
        self, config: TrainConfig, optimizer: DecentralizedOptimizer, model: nn.Module, data: Data
    ) -> None:
        self._optimizer, self._model, self._data = optimizer, model, data
        self._writer = _tensorboard(config.tensorboard) if optimizer.rank == 0 else None
        self.last: dict[str, float] = {}

    def write(self, loss: float) -> None:
        """Evaluate the average model and report; a collective."""
        optimizer = self._optimizer
        with torch.no_grad(), optimizer.averaged_parameters():
            validation = float(loss_of(self._model, *self._data.held_out))
        self.last = {
            "step": optimizer.steps,
            "loss": loss,
            "validation_loss": validation,
            "consensus_error": optimizer.consensus_error(),
            "megabytes_sent": optimizer.bytes_sent / 1e6,
        }
        if optimizer.rank == 0:
            print("  ".join(f"{k} {v:.6g}" for k, v in self.last.items()), flush=True)
        if self._writer is not None:
            for name, value in self.last.items():
                self._writer.add_scalar(name, value, optimizer.steps)
            self._writer.flush()


def _require_same_method(config: TrainConfig, optimizer: DecentralizedOptimizer) -> None:
    """A checkpoint brings its hyper-parameters along, which must not silently replace others."""
    asked = optimizer.algorithm.hyperparameters
    held = {name: optimizer.param_groups[0][name] for name in asked}
    found, way_out = f"{config.checkpoints}, a run with {held}", "go on with those, or elsewhere"
    require(held == asked, "checkpoints", found, f"one with {asked}", way_out)


def make_optimizer(config: TrainConfig, model: nn.Module) -> DecentralizedOptimizer:
    """The optimizer of a configuration; names that do not exist are answered with those that do."""
    return DecentralizedOptimizer(
        model.named_parameters(),
        make_algorithm(config),
        partial(make_network, config.network),
        message_dtype=MESSAGES[config.message_dtype],
        timeout=config.timeout,
        on_peer_failure=config.on_peer_failure,  # type: ignore[arg-type]
    )


def make_model(config: TrainConfig, data: Data) -> nn.Module:
    """A small MLP on flat inputs, or the GPT on tokens; on this rank's GPU if there is one."""
    torch.manual_seed(config.seed)
    model: nn.Module
    if config.model == "gpt":
        from gossamer.models import GPT

        model = GPT(data.classes, CONTEXT, seed=config.seed)
    else:
        width = data.held_out[0].shape[-1]
        model = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, data.classes))
    return model.to(data.held_out[0].device)


def loss_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over samples, and over positions where a sample has several."""
    return functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())


def load_data(config: TrainConfig, node: int, num_nodes: int) -> Data:
    """The data of a node, on this rank's GPU if there is one."""
    if config.model == "gpt":
        data = _text(config.data, node, num_nodes)
    else:
        samples = _digits() if config.data == "digits" else _blobs(config.seed)
        data = _share(*samples, config.seed, node, num_nodes)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs, targets = (part.to(device) for part in data.held_out)
    return Data(data.shard.to(torch.get_default_dtype(), device), (inputs, targets), data.classes)


def _share(
    inputs: Tensor, targets: Tensor, classes: int, seed: int, node: int, num_nodes: int
) -> Data:
    """The samples in random order: some held out, the rest in equal parts, one per node."""
    order = torch.randperm(len(inputs), generator=stream("held out", seed))
    kept, held_out = order.tensor_split([int(len(order) * (1 - HELD_OUT))])
    own = kept.tensor_split(num_nodes)[node]
    shard = TensorSamples(inputs[own], targets[own])
    return Data(shard, (inputs[held_out], targets[held_out]), classes)


def _text(path: str, node: int, num_nodes: int) -> Data:
    """A text file as windows of words, each with the word that follows every position."""
    corpus = corpus_from_file(path)
    shard = TokenWindows(token_shard(corpus.train, node, num_nodes), CONTEXT, STRIDE)
    held_out = TokenWindows(corpus.validation, CONTEXT, CONTEXT)
    return Data(shard, held_out[torch.arange(len(held_out))], len(corpus.vocabulary))


def _digits() -> tuple[Tensor, Tensor, int]:
    """The 1,797 handwritten digits, 8 × 8, that ship with scikit-learn."""
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as reason:
        raise InvalidInput("data: digits needs scikit-learn; pip install scikit-learn") from reason
    images, labels = datasets.load_digits(return_X_y=True)
    return torch.tensor(images / 16.0, dtype=torch.get_default_dtype()), torch.tensor(labels), 10


def _blobs(seed: int) -> tuple[Tensor, Tensor, int]:
    """Four Gaussian clouds in the plane."""
    generator = stream("blobs", seed)
    labels = torch.randint(4, (2000,), generator=generator)
    centers = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    return centers[labels] + 0.5 * torch.randn(2000, 2, generator=generator), labels, 4


def _tensorboard(folder: str | None) -> Any:
    if folder is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as reason:
        raise InvalidInput("tensorboard: not installed; pip install tensorboard") from reason
    return SummaryWriter(folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and train; bad input ends in one line on stderr and exit code 2."""
    try:
        run(read_arguments(arguments))
    except InvalidInput as error:
        print(f"gossamer train: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
