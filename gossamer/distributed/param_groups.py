"""What param groups say of their parameters: which the nodes mix, which are frozen, their names."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor

from gossamer.distributed.agreement import short_digest
from gossamer.distributed.hyperparameters import value_of

FEW = 4
"""Names that are shown one by one."""

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


def group_values(groups: ParamGroups, names: Iterable[str]) -> dict[str, Any]:
    """What each group holds under these names, with names that tell the groups apart.

    >>> group_values([{"lr": 0.1}, {"lr": 0.2}], ["lr"])
    {'lr of param group 0': 0.1, 'lr of param group 1': 0.2}
    """
    held = ((name, k, group.get(name)) for k, group in enumerate(groups) for name in names)
    return {f"{name} of param group {k}": value_of(value) for name, k, value in held}


def in_short(names: Sequence[str]) -> str:
    """A few names, or the first and the last, with a digest of all.

    >>> in_short(["weight", "bias"]), in_short([f"w{k}" for k in range(9)])
    ('weight, bias', 'w0, …, w8 (cb3cdc76153b)')
    """
    if len(names) <= FEW:
        return ", ".join(names)
    return f"{names[0]}, …, {names[-1]} ({short_digest(list(names))})"


def names_of(groups: ParamGroups, params: Sequence[Tensor]) -> list[str]:
    """The name of each of `params`; a number stands for a name that the groups lack."""
    names = {
        p: name
        for group in groups
        for p, name in zip(group["params"], group.get("param_names", ()), strict=False)
    }
    return [names.get(p, f"parameter_{i}") for i, p in enumerate(params)]
