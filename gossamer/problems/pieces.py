"""In which pieces a loss over a whole dataset may be evaluated."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from gossamer.data.moving import move
from gossamer.data.pairs import Pairs
from gossamer.errors import refuse
from gossamer.problems.evaluator import seeded
from gossamer.problems.telling_samples import classes, extremes, spread
from gossamer.problems.vector_module import VectorModule
from gossamer.seeding import stream

SAMPLES_AT_ONCE = 256
"""Samples of one evaluation of a loss that is a mean over samples."""

PIECES = 8
"""Into which a few samples are divided, to see whether their loss is a mean over samples."""

BESIDE_START = 0.03
"""Size of the steps from x⁰, where layers of zeros would make all samples alike."""


def pieces(data: Pairs, at_once: int | None) -> Iterator[tuple[float, Tensor, Tensor]]:
    """All samples in order, `at_once` or all at a time, with the share that each piece is."""
    for index in torch.arange(len(data)).split(at_once or len(data)):
        yield len(index) / len(data), *data[index]


def samples_at_once(model: VectorModule, datasets: Sequence[Pairs]) -> int | None:
    """How many samples may be evaluated together: a few, or None if only all give the loss.

    The mean over the pieces is the loss of all samples if the loss is a mean over samples. It is
    not, e.g., with statistics of the batch or weights of classes. A loss that is a sum is refused.
    """
    places = {*spread(datasets), *classes(datasets), *extremes(datasets)}
    samples = [datasets[k][torch.tensor([row])] for k, row in sorted(places)]
    inputs, targets = map(torch.cat, zip(*samples, strict=True))
    mixed = torch.randperm(len(inputs), generator=stream("pieces of a loss", len(inputs)))
    kind = _kind_of_loss(model, inputs[mixed], targets[mixed])
    if kind == "sum":
        refuse("loss", "a sum over the batch", "the mean over a batch", 'e.g. reduction="mean"')
    return SAMPLES_AT_ONCE if kind == "mean" else None


def _kind_of_loss(
    model: VectorModule, inputs: Tensor, targets: Tensor
) -> Literal["mean", "sum", ""]:
    """What the loss of the samples together is of those of pieces of them; "" if neither.

    In double precision, where rounding decides nothing, unless the module knows its own only.
    """
    for precise in (model.exact, lambda: model):
        try:
            with torch.no_grad(), warnings.catch_warnings(action="ignore"):
                return _compared(precise(), inputs, targets)
        except Exception:  # e.g. one sample has no variance
            continue
    return ""


def _compared(model: VectorModule, inputs: Tensor, targets: Tensor) -> Literal["mean", "sum", ""]:
    with seeded(model.start.device):
        x = model.start + BESIDE_START * torch.randn_like(model.start)
    inputs, targets = (move(part, x.device, x.dtype) for part in (inputs, targets))
    together = _loss(model, x, inputs, targets)
    parts = torch.arange(len(inputs)).tensor_split(min(PIECES, len(inputs)))
    losses = torch.stack([_loss(model, x, inputs[part], targets[part]) for part in parts])
    shares = losses.new_tensor([len(part) / len(inputs) for part in parts])
    error = _rounding(model) * losses.abs().max()
    some_say_nothing = bool((losses == 0).any()) and bool((losses != 0).any())  # e.g. all masked
    if (together - (shares * losses).sum()).abs() <= error and not some_say_nothing:
        return "mean"
    twice = _loss(model, x, inputs.repeat_interleave(2, 0), targets.repeat_interleave(2, 0))
    return "sum" if (twice - 2 * together).abs() <= error < together.abs() else ""


def _loss(model: VectorModule, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of samples together."""
    with seeded(x.device):
        return model.evaluation_loss(x, inputs, targets).double()


def _rounding(model: VectorModule) -> float:
    """How far two ways to compute a loss may be apart, relative to it."""
    dtype = model.autocast or model.start.dtype
    return float(torch.finfo(dtype).eps ** (2 / 3))
