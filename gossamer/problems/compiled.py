"""A gradient with its backward pass as one program of `torch.compile`."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gossamer.problems.vector_module import first_line
from gossamer.progress import tell

TensorFunction = Callable[..., Tensor]


class Compiled:
    """`function` of tensors, traced operation by operation and compiled for the shapes of a call.

    It must be pure, without branches on values; it may differentiate. What it draws at random is
    the same as without. One that cannot be compiled is called as it is, with a warning.
    """

    def __init__(self, function: TensorFunction) -> None:
        self.function = function
        self._programs: dict[Any, TensorFunction] = {}

    def __call__(self, *arguments: Tensor) -> Tensor:
        """`function(*arguments)`, up to rounding."""
        key = tuple((z.shape, z.dtype, z.device) for z in arguments)
        if key not in self._programs:
            tell("compiling the gradient")
            self._programs[key] = self._program(arguments)
        return self._programs[key](*arguments)

    def _program(self, arguments: tuple[Tensor, ...]) -> TensorFunction:
        from torch.fx.experimental.proxy_tensor import make_fx  # a third of a second

        try:
            traced = make_fx(lambda *given: self.function(*given))(*arguments)
            options: Any = {"fallback_random": True}  # the masks that are drawn without a compiler
            program: TensorFunction = torch.compile(traced, dynamic=False, options=options)
            program(*arguments)
        except Exception as reason:  # whatever a compiler cannot do, the function can
            warnings.warn(_not_compiled(reason), stacklevel=2)
            return self.function
        return program

    def __getstate__(self) -> dict[str, Any]:
        """Without the programs, which another process compiles for itself."""
        return vars(Compiled(self.function))


def _not_compiled(reason: Exception) -> str:
    return (
        f"the gradient cannot be compiled and is evaluated operation by operation, which is "
        f"slower ({type(reason).__name__}: {first_line(reason)}); compile=False avoids the attempt"
    )
