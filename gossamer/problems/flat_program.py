"""A function of tensors as a flat list of operations: traced once, simplified, then replayed.

Automatic differentiation of a batched function costs twice: every call walks through the layers of
`torch.func`, and the operations that come out make passes over the data which a person would not
write: constants as whole tensors, a loss that nobody reads, one pass for every scalar factor.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gossamer.problems.simplify import simplified

TensorFunction = Callable[..., Tensor]

_tracing = threading.Lock()


@dataclass
class FlatProgram:
    """`function(x, *data)` for x of a known shape, replayed with as few operations as we know how.

    The function must be pure and without branches on values. For a new shape it is traced (a tenth
    of a second), and the program compared with the function itself at random points; where that
    fails, the function is called as it is.

    Args:
        function: what to replay.
        fixed_data: whether the same tensors are given as `data` again and again, so that what
            depends on them alone is computed once.

    >>> from torch.func import grad, vmap
    >>> slope = FlatProgram(vmap(grad(lambda x: (3 * x**2).sum())))
    >>> slope(torch.tensor([[1.0, -2.0]]))
    tensor([[  6., -12.]])
    """

    function: TensorFunction
    fixed_data: bool = False
    _programs: dict[object, TensorFunction] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, x: Tensor, *data: Tensor) -> Tensor:
        """`function(x, *data)`, up to rounding."""
        x = x.contiguous()
        key = (x.shape, x.dtype, x.device, data if self.fixed_data else _kinds(data))
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._program(x, data)
        return program(x) if self.fixed_data else program(x, *data)

    def __getstate__(self) -> dict[str, Any]:
        """Without the programs, which another process traces for itself."""
        return self.__dict__ | {"_programs": {}}

    def _program(self, x: Tensor, data: tuple[Tensor, ...]) -> TensorFunction:
        """For tensors like these: traced and simplified, or `function` where that fails."""
        probe = (_random_like(x), *data)
        function = _with(self.function, data) if self.fixed_data else self.function
        given = probe[:1] if self.fixed_data else probe
        expected = function(*given)
        try:
            from torch.fx.experimental.proxy_tensor import make_fx  # a third of a second

            with _tracing:
                program = simplified(make_fx(function)(*given))
            return program if _agree(program(*given), expected) else function
        except Exception:  # whatever a tracer cannot do, the function can
            return function


def _with(function: TensorFunction, data: tuple[Tensor, ...]) -> TensorFunction:
    return lambda x: function(x, *data)


def _kinds(data: tuple[Tensor, ...]) -> tuple[object, ...]:
    return tuple([(part.shape, part.dtype) for part in data])


def _random_like(tensor: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype).to(tensor.device)


def _agree(found: Tensor, expected: Tensor) -> bool:
    """Up to √ε of the largest entry, ε the machine's."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    allowed = float(expected.nan_to_num().abs().max()) * torch.finfo(expected.dtype).eps ** 0.5
    return torch.allclose(found, expected, rtol=0, atol=allowed, equal_nan=True)
