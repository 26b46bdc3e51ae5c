"""What a model's state dict holds: the parameters that nodes mix, what stays local, tied names."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gossamer.distributed.inside.mesh import give
from gossamer.errors import require


class ModelState(NamedTuple):
    """The state dict of a model, taken apart so that every tensor is in it once."""

    names: list[str]
    """The mixed parameters' names, in their order."""
    local: dict[str, Tensor]
    """Name → tensor of the others: frozen parameters and buffers, e.g. BatchNorm's statistics."""
    tied: dict[str, str]
    """Name → another name of the same tensor, which is in `names` or `local`."""


def state_of(model: nn.Module, mixed: Sequence[Tensor]) -> ModelState:
    """Take a model's state dict apart; `mixed` are the parameters that the nodes mix.

    >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2, affine=False))
    >>> names, local, tied = state_of(model, [model[0].weight])
    >>> names, sorted(local), tied
    (['0.weight'], ['1.num_batches_tracked', '1.running_mean', '1.running_var'], {})
    """
    first: dict[int, str] = {}
    entries, tied = model.state_dict(keep_vars=True), {}
    for name, value in entries.items():
        tensor = isinstance(value, Tensor)
        way_out = "give None for the model, and the model as an extra: module=model"
        require(tensor, f"model: {name}", type(value).__name__, "tensors alone", way_out)
        if id(value) in first:
            tied[name] = first[id(value)]
        else:
            first[id(value)] = name
    lost = [tuple(p.shape) for p in mixed if id(p) not in first]
    need = "the model that the optimizer's parameters are of"
    require(not lost, "model", f"one without parameters of shapes {lost}", need)
    names = [first[id(p)] for p in mixed]
    local = {name: entries[name] for name in first.values() if name not in names}
    return ModelState(names, local, tied)


@torch.no_grad()
def load_local(local: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Give the tensors that are not mixed their saved values."""
    for name, tensor in local.items():
        give(tensor, saved[name].to(tensor.device))


def average(tensors: Sequence[Tensor]) -> Tensor:
    """The mean over the nodes; of what is equal, or counts, that of the first.

    >>> average([torch.tensor([1.0]), torch.tensor([2.0])]), average([torch.tensor(3)] * 2)
    (tensor([1.5000]), tensor(3))
    """
    first, *others = tensors
    equal = all(torch.equal(first, other) for other in others)
    return first if equal or not first.is_floating_point() else torch.stack(list(tensors)).mean(0)
