"""How a method's step is evaluated: as written, or on CUDA compiled into a few fused kernels."""

import dataclasses
import numbers
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Mix
from gossamer.triton_language import installed


def compiles(device: torch.device | str) -> bool:
    """Whether steps on this device are compiled."""
    return torch.device(device).type == "cuda" and installed()


class CompiledStep:
    """`step` in as few passes over its tensors as its products with W leave.

    t is handed over as a tensor, and hyper-parameters should be too (`numbers_as_tensors`):
    another number is then the same program.
    """

    def __init__(
        self, algorithm: type[Algorithm[Any]], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self._step, self._t = _compiled(algorithm), torch.zeros((), dtype=dtype, device=device)

    def __call__(
        self, algorithm: Algorithm[Any], t: int, x: Tensor, grad: Tensor, state: Any, mix: Mix
    ) -> tuple[Tensor, Any]:
        """One step of `algorithm`."""
        return self._step(algorithm, self._t.fill_(t), x, grad, state, mix)


@cache
def _compiled(algorithm: type[Algorithm[Any]]) -> Callable[..., Any]:
    """One program per method, whatever its numbers and network."""
    warnings.filterwarnings("ignore", "TensorFloat32 tensor cores")  # advice we do not take
    return torch.compile(algorithm.step)


def numbers_as_tensors(
    algorithm: Algorithm[Any], dtype: torch.dtype, device: torch.device | str
) -> Algorithm[Any]:
    """The same method, its numbers held in tensors of no axes."""
    values = {
        name: torch.tensor(value, dtype=dtype, device=device)
        for name, value in algorithm.hyperparameters.items()
        if isinstance(value, numbers.Real)
    }
    return dataclasses.replace(algorithm, **values)
