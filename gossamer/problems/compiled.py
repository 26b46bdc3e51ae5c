"""A gradient with its backward pass as one program of `torch.compile`."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

from gossamer.errors import first_line
from gossamer.problems.vector_module import exact_convolutions
from gossamer.progress import tell

TensorFunction = Callable[..., Tensor]


class Compiled:
    """`function` of tensors, traced operation by operation and compiled for the shapes of a call.

    It must be pure, without branches on values; it may differentiate. What it draws at random is
    the same as without, and convolutions are as exact as products (`exact_convolutions`). One that
    cannot be compiled is called as it is, with a warning.
    """

    def __init__(self, function: TensorFunction) -> None:
        self.function = function
        self._programs: dict[Any, TensorFunction] = {}

    def __call__(self, *arguments: Tensor) -> Tensor:
        """`function(*arguments)`, up to rounding."""
        key = tuple((z.shape, z.dtype, z.device) for z in arguments)
        with exact_convolutions(arguments[0].device):
            if key not in self._programs:
                tell("compiling the gradient")
                self._programs[key] = self._program(arguments)
            return self._programs[key](*arguments)

    def _program(self, arguments: tuple[Tensor, ...]) -> TensorFunction:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a compiler's advice, e.g. to be less exact
                return self._compiled(arguments)
        except Exception as reason:  # whatever a compiler cannot do, the function can
            warnings.warn(_not_compiled(reason), stacklevel=2)
            return self.function

    def _compiled(self, arguments: tuple[Tensor, ...]) -> TensorFunction:
        from torch.fx.experimental.proxy_tensor import make_fx  # a third of a second

        traced = make_fx(lambda *given: self.function(*given))(*arguments)
        _choose_instead_of_scattering(traced.graph)
        options: Any = {"fallback_random": True}  # the masks that are drawn without a compiler
        program: TensorFunction = torch.compile(traced, dynamic=False, options=options)
        program(*arguments)
        return program

    def __getstate__(self) -> dict[str, Any]:
        """Without the programs, which another process compiles for itself."""
        return vars(Compiled(self.function))


def _choose_instead_of_scattering(graph: fx.Graph) -> None:
    """Replace sums of one number per row into zeros, as the gradient of a cross-entropy has them.

    They would be written for all classes; a choice is computed where it is read.
    """
    aten = torch.ops.aten
    for node in graph.find_nodes(op="call_function", target=aten.scatter_add.default):
        zeros, axis, index, _ = node.args
        one_each = list(zeros.meta["val"].shape)
        one_each[axis] = 1
        if zeros.target is aten.new_zeros.default and list(index.meta["val"].shape) == one_each:
            node.target = placed


def placed(zeros: Tensor, axis: int, index: Tensor, values: Tensor) -> Tensor:
    """`zeros.scatter_add(axis, index, values)` where every row has one index.

    >>> placed(torch.zeros(2, 3), 1, torch.tensor([[0], [2]]), torch.tensor([[5.0], [7.0]]))
    tensor([[5., 0., 0.],
            [0., 0., 7.]])
    """
    places = torch.arange(zeros.shape[axis], device=index.device)
    places = places.view(-1, *[1] * (zeros.ndim - 1 - axis % zeros.ndim))
    return torch.where(index == places, values, 0)


def _not_compiled(reason: Exception) -> str:
    return (
        f"the gradient cannot be compiled and is evaluated operation by operation, which is "
        f"slower ({type(reason).__name__}: {first_line(reason)}); compile=False avoids the attempt"
    )
