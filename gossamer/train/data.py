"""What `gossamer train` trains on: a node's share of digits, of artificial points, or of a text."""

from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor

from gossamer.data import TokenWindows, corpus_from_file, token_shard
from gossamer.data.pairs import Pairs, TensorPairs
from gossamer.errors import InvalidInput
from gossamer.seeding import stream
from gossamer.train.config import TrainConfig

HELD_OUT = 0.1
"""Share of the data kept for validation."""
CONTEXT, STRIDE = 64, 32
"""Tokens in a window of text, and from the start of one to the start of the next."""


class Data(NamedTuple):
    """What one node learns from, what its model is judged on, and how many answers there are."""

    shard: Pairs
    held_out: tuple[Tensor, Tensor]
    classes: int


def load_data(config: TrainConfig, node: int, num_nodes: int) -> Data:
    """The data of a node, on this rank's GPU if there is one."""
    if config.model == "gpt":
        data = _text(config.data, node, num_nodes)
    else:
        samples = _digits() if config.data == "digits" else _blobs(config.seed)
        data = _share(*samples, config.seed, node, num_nodes)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs, targets = (part.to(device) for part in data.held_out)
    return Data(data.shard.to(device, torch.get_default_dtype()), (inputs, targets), data.classes)


def _share(
    inputs: Tensor, targets: Tensor, classes: int, seed: int, node: int, num_nodes: int
) -> Data:
    """The samples in random order: some held out, the rest in equal parts, one per node."""
    order = torch.randperm(len(inputs), generator=stream("held out", seed))
    kept, held_out = order.tensor_split([int(len(order) * (1 - HELD_OUT))])
    own = kept.tensor_split(num_nodes)[node]
    shard = TensorPairs(inputs[own], targets[own])
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
