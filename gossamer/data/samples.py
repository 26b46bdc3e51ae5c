"""The data of one node: samples that can be picked many at a time."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from gossamer.errors import InvalidInput, require

ADMISSIBLE = "(inputs, targets) or a dataset of such pairs, all of one shape"


@runtime_checkable
class Samples(Protocol):
    """Pairs (input, target); an index tensor picks a batch whose shape begins with its own."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor, /) -> tuple[Tensor, Tensor]: ...

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Self:
        """The same on another device, floating-point tensors in another precision."""
        ...


class TensorSamples:
    """Samples held as two tensors of equal length.

    >>> samples = TensorSamples(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([7, 8, 9]))
    >>> samples[torch.tensor([2, 0])]
    (tensor([[3.], [1.]]), tensor([9, 7]))
    """

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        lengths = f"{len(inputs)} inputs and {len(targets)} targets"
        require(len(inputs) == len(targets) > 0, "dataset", lengths, "as many of each, at least 1")
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]

    def to(self, dtype: torch.dtype, device: torch.device | str) -> "TensorSamples":
        """The same on another device, floating-point tensors in another precision."""
        return TensorSamples(move(self.inputs, dtype, device), move(self.targets, dtype, device))


def move(tensor: Tensor, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """To another device, and to another precision if it is a floating-point tensor."""
    return tensor.to(device, dtype if tensor.is_floating_point() else tensor.dtype)


def as_samples(dataset: Any) -> Samples:
    """Samples as they are, two tensors or arrays, or any dataset of (input, target) pairs."""
    if not isinstance(dataset, Tensor) and isinstance(dataset, Samples):
        return dataset
    if not _is_pair(dataset):
        dataset = _read(dataset)
    found = f"{type(dataset).__name__} of {len(dataset)}"
    require(_is_pair(dataset), "dataset", found, ADMISSIBLE)
    return TensorSamples(*map(torch.as_tensor, dataset))


def _read(dataset: Any) -> Any:
    """All samples of a dataset, stacked."""
    readable = all(hasattr(dataset, name) for name in ("__len__", "__getitem__"))
    way_out = "list(dataset) reads one without length or index; of a DataLoader take loader.dataset"
    require(readable, "dataset", type(dataset).__name__, ADMISSIBLE, way_out)
    require(len(dataset) > 0, "dataset", "no samples", "at least 1")
    samples = [dataset[k] for k in range(len(dataset))]
    try:
        return default_collate(samples)
    except (RuntimeError, TypeError) as reason:
        found = f"samples that do not stack ({str(reason).splitlines()[0]})"
        raise InvalidInput(f"dataset: got {found}, need {ADMISSIBLE}") from reason


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2
        and all(isinstance(part, Tensor | np.ndarray) and part.ndim > 0 for part in value)
    )
