"""A node's state where torch looks for it: under each parameter, as views of flat buffers."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import StateDict

from gossamer.distributed.flat import FlatParameters

OfParameters = MutableMapping[Tensor, Any]
"""`Optimizer.state`: parameter → name → tensor."""

EXACT = "exact"
"""The name of a parameter's part of x, where x is more precise than the model."""


def show(
    state: OfParameters, flat: FlatParameters, fields: Mapping[str, Tensor], step: int
) -> None:
    """Let torch find the node's step and the fields of its state under each parameter."""
    told = torch.tensor(step)
    exact = {EXACT: flat.buffer} if flat.is_apart else {}
    for name, buffer in {**fields, **exact}.items():
        for p, part in zip(flat.params, flat.views(buffer), strict=True):
            state[p][name] = part
    for p in flat.params:
        state[p]["step"] = told


@torch.no_grad()
def take_x(state: OfParameters, flat: FlatParameters) -> None:
    """Let x be as exact as torch knows it, but where the model has got other values since."""
    for p, part in zip(flat.params, flat.views(flat.buffer), strict=True):
        part.copy_(state[p].pop(EXACT, part))
    flat.relink()


def take_in(state: OfParameters, flat: FlatParameters, fields: Mapping[str, Tensor]) -> int:
    """Write what torch knows of the parameters into the flat `fields`; returns the step."""
    for name, buffer in fields.items():
        for p, part in zip(flat.params, flat.views(buffer), strict=True):
            part.copy_(state[p].get(name, part))
    return max(int(state[p].get("step", 0)) for p in flat.params)  # new ones: none


@torch.no_grad()
def take_exactly(state: OfParameters, groups: list[dict[str, Any]], saved: StateDict) -> None:
    """The state as it was saved: torch rounds it to the precision of the parameters."""
    params = [p for group in groups for p in group["params"]]
    saved_as = [k for group in saved["param_groups"] for k in group["params"]]
    for p, k in zip(params, saved_as, strict=True):
        for name, z in saved["state"].get(k, {}).items():
            if name in state[p]:
                state[p][name].copy_(z)
