"""Data to learn from: (input, target) pairs that are picked many at a time."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from gossamer.data.moving import Device, destination, move
from gossamer.errors import InvalidInput, first_line, refuse, require
from gossamer.identical import identical

ADMISSIBLE = (
    "(inputs, targets) as two tensors or arrays, or a dataset of (input, target) pairs of one shape"
)
REREAD = 8
"""Samples of a dataset that are read twice, to see whether they stay the same."""


@runtime_checkable
class Pairs(Protocol):
    """(input, target) pairs; an index tensor picks a batch whose shape begins with its own."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor, /) -> tuple[Tensor, Tensor]: ...

    def to(self, device: Device, dtype: torch.dtype, /) -> Self:
        """The same on another device, floating-point tensors in another precision."""
        ...


class TensorPairs:
    """Pairs held as two tensors of equal length.

    >>> pairs = TensorPairs(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([7, 8, 9]))
    >>> pairs
    TensorPairs(3 × (1,) → ())
    >>> pairs[torch.tensor([2, 0])]
    (tensor([[3.], [1.]]), tensor([9, 7]))
    """

    def __init__(self, inputs: Tensor, targets: Tensor, name: str = "dataset") -> None:
        lengths = f"{len(inputs)} inputs and {len(targets)} targets"
        require(len(inputs) == len(targets) > 0, name, lengths, "equally many, at least 1")
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]

    def __repr__(self) -> str:
        shapes = tuple(self.inputs.shape[1:]), tuple(self.targets.shape[1:])
        return f"TensorPairs({len(self)} × {shapes[0]} → {shapes[1]})"

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> "TensorPairs":
        """The same on another device, floating-point tensors in another precision."""
        place = destination(device, dtype)
        return TensorPairs(move(self.inputs, *place), move(self.targets, *place))


def as_pairs(dataset: Any, name: str = "dataset") -> Pairs:
    """Pairs as they are, two tensors or arrays, or any dataset of (input, target) pairs.

    Args:
        dataset: the data.
        name: what they are called where they are refused.
    """
    if not isinstance(dataset, Tensor) and isinstance(dataset, Pairs):
        return dataset
    if not _is_pair(dataset):
        dataset = _read(dataset, name)
    found = f"{type(dataset).__name__} of {len(dataset)}"
    require(_is_pair(dataset), name, found, ADMISSIBLE)
    try:
        inputs, targets = map(torch.as_tensor, dataset)
    except TypeError:
        kinds = " and ".join(str(part.dtype) for part in dataset)
        way_out = "number the words, e.g. np.unique(labels, return_inverse=True)[1]"
        refuse(name, f"arrays of {kinds}", "numbers", way_out)
    empty = inputs.is_meta or targets.is_meta
    require(not empty, name, "tensors on the meta device", "tensors that hold data")
    return TensorPairs(inputs, targets, name)


def _read(dataset: Any, name: str) -> Any:
    """All samples of a dataset, stacked."""
    readable = all(hasattr(dataset, method) for method in ("__len__", "__getitem__"))
    way_out = "pass list(dataset), or loader.dataset in place of a DataLoader"
    require(readable, name, type(dataset).__name__, ADMISSIBLE, way_out)
    way_out = 'pass its values, e.g. (data["x"], data["y"])'
    require(not isinstance(dataset, Mapping), name, type(dataset).__name__, ADMISSIBLE, way_out)
    require(len(dataset) > 0, name, "no samples", "at least 1")
    samples = [dataset[k] for k in range(len(dataset))]
    try:
        stacked = default_collate(samples)
        again = default_collate([dataset[k] for k in range(min(REREAD, len(dataset)))])
    except (RuntimeError, TypeError) as reason:
        found = f"samples that do not stack ({first_line(reason)})"
        way_out = "make tensors of lists, e.g. by torch.tensor(inputs), and pad them to one shape"
        raise InvalidInput(f"{name}: got {found}, need {ADMISSIBLE}; {way_out}") from reason
    if _is_pair(stacked):
        _require_fixed(stacked, again, name)
    return stacked


def _require_fixed(stacked: Sequence[Tensor], again: Sequence[Tensor], name: str) -> None:
    """Refuse samples that differ when they are read again: they are read once, and kept."""
    same = all(identical(z[: len(part)], part) for z, part in zip(stacked, again, strict=True))
    found = "samples that change each time they are read, e.g. by random augmentation"
    way_out = "let the module augment its inputs in training mode, with torch's random numbers"
    require(same, name, found, "fixed ones, which are read once", way_out)


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2
        and all(isinstance(part, Tensor | np.ndarray) and part.ndim > 0 for part in value)
    )
