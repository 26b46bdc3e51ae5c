"""Whether a module keeps something from one evaluation to the next."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from gossamer import random_state
from gossamer.errors import require
from gossamer.problems.vector_module import VectorModule, in_training

TRIES = 4
"""Evaluations with the same random numbers, which must give the same gradient."""

LESS = 0.1
"""Largest share by which parameters are made smaller, to see what a module does elsewhere."""


def require_no_memory(model: VectorModule, inputs: Tensor, targets: Tensor) -> None:
    """Refuse a module with a memory, e.g. a generator of its own, or weights that it prepared.

    It was run before; now its gradients elsewhere must be those of a new copy.
    """
    with _same_numbers(inputs.device):
        x = model.start * (1 - LESS * torch.rand_like(model.start))
    modes = (model.training_grad, in_training), (model.evaluation_grad, nn.Module.eval)
    for grad, in_mode in modes:
        with _same_numbers(inputs.device):
            expected = model.plain_grad(x, inputs, targets, in_mode)
        for _ in range(TRIES):
            with _same_numbers(inputs.device):
                _require_same(grad(x, inputs, targets), expected, model.name)


def _same_numbers(device: torch.device) -> AbstractContextManager[None]:
    """Within, all that is drawn is the same each time."""
    return random_state.seeded(0, [device] if device.type == "cuda" else [])


def _require_same(found: Tensor, expected: Tensor, name: str) -> None:
    if torch.equal(found, expected):
        return
    rounding = torch.finfo(found.dtype).eps ** 0.5 * float(expected.nan_to_num().abs().max())
    same = torch.allclose(found, expected, rtol=0, atol=rounding, equal_nan=True)
    told = f"{name}, whose loss changes from one evaluation to the next"
    need = "one without memory, whose loss depends on its arguments and random numbers only"
    way_out = (
        "draw with torch's own functions, e.g. torch.rand, not with a generator it holds, and "
        "compute what depends on parameters anew each time"
    )
    require(same, "module", told, need, way_out)
