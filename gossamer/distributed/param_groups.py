"""What param groups say of their parameters: which the nodes mix, which are frozen, their names."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from torch import Tensor

ParamGroups = Sequence[Mapping[str, Any]]


def mixed(groups: ParamGroups, joined: Container[Tensor]) -> list[list[Tensor]]:
    """By group, the parameters that the nodes mix: those that require a gradient, or have joined.

    >>> import torch
    >>> weight, bias = torch.ones(2, requires_grad=True), torch.zeros(1)
    >>> mixed([{"params": [weight, bias]}], joined={})
    [[tensor([1., 1.], requires_grad=True)]]
    """
    return [[p for p in group["params"] if p.requires_grad or p in joined] for group in groups]


def frozen(groups: ParamGroups, joined: Container[Tensor]) -> list[Tensor]:
    """The parameters that have not joined."""
    return [p for group in groups for p in group["params"] if p not in joined]


def named_shapes(groups: ParamGroups, params: Sequence[Tensor]) -> list[tuple[str, list[int]]]:
    """Name and shape of each of `params`; a number stands for a name that the groups lack."""
    names = {
        p: name
        for group in groups
        for p, name in zip(group["params"], group.get("param_names", ()), strict=False)
    }
    return [(names.get(p, f"parameter_{i}"), list(p.shape)) for i, p in enumerate(params)]
