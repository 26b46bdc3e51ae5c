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
from gossamer.problems.telling_samples import classes, spread
from gossamer.problems.vector_module import VectorModule

SAMPLES_AT_ONCE = 256
"""Samples of one evaluation of a loss that is a mean over samples."""

BESIDE_START = 0.03
"""Size of the steps from x⁰, where layers of zeros would make all samples alike."""

Sample = tuple[Tensor, Tensor]
"""An input and a target, each as a batch of one."""


def pieces(data: Pairs, at_once: int | None) -> Iterator[tuple[float, Tensor, Tensor]]:
    """All samples in order, `at_once` or all at a time, with the share that each piece is."""
    for index in torch.arange(len(data)).split(at_once or len(data)):
        yield len(index) / len(data), *data[index]


def samples_at_once(model: VectorModule, datasets: Sequence[Pairs]) -> int | None:
    """How many samples may be evaluated together: a few, or None if only all give the loss.

    The mean over the pieces is the loss of all samples if the loss is a mean over samples. It is
    not, e.g., with statistics of the batch or weights of classes. A loss that is a sum is refused.
    """
    chosen = dict.fromkeys([*spread(datasets), *classes(datasets)])
    samples = [datasets[k][torch.tensor([row])] for k, row in chosen]
    kind = _kind_of_loss(model, samples)
    if kind == "sum":
        refuse("loss", "a sum over the batch", "the mean over a batch", 'e.g. reduction="mean"')
    return SAMPLES_AT_ONCE if kind == "mean" else None


def _kind_of_loss(model: VectorModule, samples: Sequence[Sample]) -> Literal["mean", "sum", ""]:
    """What the loss of the samples together is of those of each; "" if neither.

    In double precision, where rounding decides nothing, unless the module knows its own only.
    """
    for precise in (model.exact, lambda: model):
        try:
            with torch.no_grad(), warnings.catch_warnings(action="ignore"):
                return _compared(precise(), samples)
        except Exception:  # e.g. one sample has no variance
            continue
    return ""


def _compared(model: VectorModule, samples: Sequence[Sample]) -> Literal["mean", "sum", ""]:
    with seeded(model.start.device):
        x = model.start + BESIDE_START * torch.randn_like(model.start)
    alone = torch.stack([_loss(model, x, [sample]) for sample in samples])
    together = _loss(model, x, samples)
    error = _rounding(model) * alone.abs().max()
    if (together - alone.mean()).abs() <= error:
        return "mean"
    return "sum" if (together - alone.sum()).abs() <= error else ""


def _loss(model: VectorModule, x: Tensor, samples: Sequence[Sample]) -> Tensor:
    """The loss of samples together."""
    inputs, targets = (
        move(torch.cat(part), x.device, x.dtype) for part in zip(*samples, strict=True)
    )
    with seeded(x.device):
        return model.evaluation_loss(x, inputs, targets).double()


def _rounding(model: VectorModule) -> float:
    """How far two ways to compute a loss may be apart, relative to it."""
    dtype = model.autocast or model.start.dtype
    return float(torch.finfo(dtype).eps ** (2 / 3))
