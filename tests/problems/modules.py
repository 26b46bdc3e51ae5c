"""Modules of every kind, and problems made of them."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gossamer.problems.module_problem import ModuleProblem

NODES, SAMPLES, CLASSES = 3, 20, 4

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(5, 6, batch_first=True), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(x)[0][:, -1])


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(CLASSES, 6), nn.Linear(6, CLASSES, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.tanh(self.embedding(x)))


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        y = self.out(x)
        return y if y.sum() > 0 else -y


class Checkpointed(nn.Module):
    """Computes its hidden layer again for the gradient, which saves memory."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = perceptron(), nn.Linear(CLASSES, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        again = {"use_reentrant": False, "preserve_rng_state": False}
        return self.out(checkpoint(self.hidden, x, **again))


class Scaled(nn.Module):
    """Reads a buffer, which is no parameter."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x) * self.scale


class Counting(Scaled):
    """Writes to it, in place or not, in both modes or in training mode only."""

    def __init__(self, in_place: bool, always: bool):
        super().__init__()
        self.in_place, self.always = in_place, always

    def forward(self, x: Tensor) -> Tensor:
        if self.in_place and (self.training or self.always):
            self.scale += 1
        elif self.training or self.always:
            self.scale = self.scale + 1
        return self.out(x)


class Attending(nn.Module):
    """A sentence of the same word three times, stretched by its position."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.word, self.attention = nn.Embedding(CLASSES, 8), attention
        self.out = nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        h = self.word(x)[:, None] * torch.arange(1, 4, device=x.device)[:, None]
        itself = isinstance(self.attention, nn.MultiheadAttention)
        h = self.attention(h, h, h)[0] if itself else self.attention(h)
        return self.out(h[:, 0])


class Padded(nn.Module):
    """Calls the embedding itself."""

    def __init__(self, padding_idx: int, **options: bool):
        super().__init__()
        self.table, self.out = nn.Parameter(torch.randn(CLASSES, 6)), nn.Linear(6, CLASSES)
        self.options = {"padding_idx": padding_idx, **options}

    def forward(self, x: Tensor) -> Tensor:
        return self.out(functional.embedding(x, self.table, **self.options))


class AlwaysDropping(nn.Module):
    """Random in evaluation mode too."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(5, 8), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(functional.dropout(torch.tanh(self.hidden(x)), 0.5, training=True))


class RandomDepth(nn.Module):
    """Draws with Python's own generator, or another that is not torch's."""

    def __init__(self, draw: Callable[[], float] = random.random):
        super().__init__()
        self.out, self.draw = nn.Linear(5, CLASSES), draw

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x) * (1 if self.draw() < 0.5 else 2)


def transformer(dropout: float = 0.0) -> nn.Module:
    sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}
    layer = nn.TransformerEncoderLayer(**sizes, dropout=dropout)
    return Attending(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))


def perceptron(*extra: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(5, 8), *extra, nn.Tanh(), nn.Linear(8, CLASSES))


class Keeping(nn.Module):
    """Keeps an activation."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, CLASSES)
        self.weights: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.weights = self.out(x).softmax(-1)
        return self.out(x) * self.weights


def twice(layer: nn.Module) -> nn.Module:
    return perceptron(layer, nn.Tanh(), layer)


def normalized(module: nn.Module) -> nn.Module:
    torch.func.replace_all_batch_norm_modules_(module)
    return module


def convolution() -> nn.Module:
    layers = nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, CLASSES)
    return nn.Sequential(*layers)


VECTORS, SEQUENCES, IMAGES = (SAMPLES, 5), (SAMPLES, 7, 5), (SAMPLES, 1, 6, 6)
VECTORIZED = {
    "perceptron": (perceptron, VECTORS),
    "batch norm": (lambda: normalized(perceptron(nn.BatchNorm1d(8))), VECTORS),
    "group norm": (lambda: perceptron(nn.GroupNorm(2, 8)), VECTORS),
    "convolution": (convolution, IMAGES),
    "tied weights": (Tied, None),
    "a layer used twice": (lambda: twice(nn.Linear(8, 8)), VECTORS),
    "buffer": (Scaled, VECTORS),
    "attention": (lambda: Attending(nn.MultiheadAttention(8, 2, batch_first=True)), None),
    "transformer": (transformer, None),
    "padding": (lambda: Padded(1), None),
    "padding from the end": (lambda: Padded(-2, scale_grad_by_freq=True), None),
}
LOOPED = {
    "lstm": (Recurrent, SEQUENCES),
    "control flow": (Branching, VECTORS),
}
CHECKPOINTED = {"checkpointing": (Checkpointed, VECTORS)}


def build(module: nn.Module, shape: tuple[int, ...] | None, **options) -> ModuleProblem:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(CLASSES, (NODES, SAMPLES), generator=generator)
    inputs = labels if shape is None else torch.randn(NODES, *shape, generator=generator)
    datasets = list(zip(inputs, labels.roll(1, 1), strict=True))
    dtype = options.pop("dtype", torch.float64)
    options = {"batch_size": 4, **options}
    return ModuleProblem(module, functional.cross_entropy, datasets, **options).to("cpu", dtype)


def points(problem: ModuleProblem, runs: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (problem.num_nodes, runs, problem.dim)
    step = torch.randn(shape, generator=generator, dtype=torch.float64)
    return problem.start + 0.1 * step.to(problem.start.dtype)


@contextmanager
def flag(of: object, name: str, value: object) -> Iterator[None]:
    """Within, a flag of torch that rules the precision of products on a GPU has this value."""
    before = getattr(of, name)
    setattr(of, name, value)
    try:
        yield
    finally:
        setattr(of, name, before)
        cudnn.allow_tf32 = True  # as it is from the start
