"""In which pieces a loss over a whole dataset may be evaluated."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from gossamer.data.moving import move
from gossamer.data.pairs import Pairs
from gossamer.errors import refuse
from gossamer.problems.evaluator import seeded
from gossamer.problems.telling_samples import classes, extremes, spread
from gossamer.problems.vector_module import Loss, VectorModule, products_in_tf32
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

    A few may if the loss is a mean over samples, which it is not with e.g. weights of classes, and
    if the outputs of a sample do not depend on others, as they do with statistics of the batch. A
    loss that is a sum is refused.
    """
    inputs, targets = _mixed_samples(datasets)
    if len(inputs) == 1:
        return SAMPLES_AT_ONCE
    try:
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            outputs, apart = _outputs(model, inputs, targets)
            kind = _kind_of_loss(model, outputs, targets)
    except Exception:  # e.g. one sample has no variance
        return None
    if kind == "sum":
        refuse("loss", "a sum over the batch", "the mean over a batch", 'e.g. reduction="mean"')
    return SAMPLES_AT_ONCE if kind == "mean" and apart else None


def _mixed_samples(datasets: Sequence[Pairs]) -> tuple[Tensor, Tensor]:
    """Telling samples, in an order of chance."""
    places = sorted({*spread(datasets), *classes(datasets), *extremes(datasets)})
    order = torch.randperm(len(places), generator=stream("pieces of a loss", len(places)))
    samples = [datasets[k][torch.tensor([row])] for k, row in (places[m] for m in order)]
    inputs, targets = map(torch.cat, zip(*samples, strict=True))
    return inputs, targets


class Outputs(NamedTuple):
    """What a module gives for some samples together."""

    each: Tensor
    """Those of every sample, along one axis and the next."""

    axis: int

    def of(self, rows: Tensor) -> Tensor:
        """Those of some of the samples, as the module gives them for a batch."""
        return self.each.index_select(self.axis, rows).flatten(self.axis, self.axis + 1)


def _outputs(model: VectorModule, inputs: Tensor, targets: Tensor) -> tuple[Outputs, bool]:
    """Of samples together, and whether the first of them have the same without the others."""
    with seeded(model.start.device):
        x = model.start + BESIDE_START * torch.randn_like(model.start)
    judged = model.judged_by(lambda outputs, _: outputs)
    judged.autocast = None  # whose rounding could hide what others change

    def of_first(count: int) -> Tensor:
        with seeded(x.device):
            return judged.evaluation_loss(x, inputs[:count], targets[:count])

    size, few = len(inputs), -(-len(inputs) // PIECES)
    together, alone = of_first(size), of_first(few)
    lengths = zip(together.shape, alone.shape, strict=True)
    axis = next(k for k, (longer, shorter) in enumerate(lengths) if longer > shorter)
    outputs = Outputs(together.unflatten(axis, (size, -1)), axis)
    first = outputs.of(torch.arange(few, device=x.device))
    rounding = _eps_of_products(x) ** 0.5 * float(alone.abs().max())
    return outputs, torch.allclose(first, alone, rtol=0, atol=rounding)


def _eps_of_products(x: Tensor) -> float:
    """ε of products of numbers as those of x, which on a GPU may depend on how many there are."""
    tf32 = x.is_cuda and x.dtype == torch.float32 and products_in_tf32()
    return 2.0**-10 if tf32 else torch.finfo(x.dtype).eps


def _kind_of_loss(
    model: VectorModule, outputs: Outputs, targets: Tensor
) -> Literal["mean", "sum", ""]:
    """What the loss of samples together is of those of pieces of them; "" if neither.

    In double precision, where rounding decides nothing, unless the loss knows the module's only.
    """
    for dtype in (torch.float64, model.start.dtype):
        try:
            return _compared(model.loss_in(dtype), outputs, targets, dtype)
        except Exception:  # e.g. a function that holds tensors
            continue
    return ""


def _compared(
    loss: Loss, outputs: Outputs, targets: Tensor, dtype: torch.dtype
) -> Literal["mean", "sum", ""]:
    def of(rows: Tensor) -> Tensor:
        own = move(targets[rows], None, dtype)
        with seeded(rows.device):
            return loss(outputs.of(rows).to(dtype), own).double()

    rows = torch.arange(len(targets), device=targets.device)
    together, parts = of(rows), rows.tensor_split(min(PIECES, len(rows)))
    losses = torch.stack([of(part) for part in parts])
    shares = losses.new_tensor([len(part) / len(rows) for part in parts])
    error = torch.finfo(dtype).eps ** (2 / 3) * losses.abs().max()
    some_say_nothing = bool((losses == 0).any()) and bool((losses != 0).any())  # e.g. all masked
    if (together - (shares * losses).sum()).abs() <= error and not some_say_nothing:
        return "mean"
    twice = of(rows.repeat_interleave(2))
    return "sum" if (twice - 2 * together).abs() <= error < together.abs() else ""
