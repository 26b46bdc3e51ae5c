"""A function of tensors as a flat list of operations: traced once, simplified, then replayed.

Automatic differentiation of a batched function costs twice: every call walks through the layers of
`torch.func`, and the operations that come out make passes over the data which a person would not
write: constants as whole tensors, a loss that nobody reads, one pass for every scalar factor.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.func import functionalize

from gossamer.problems.simplify import simplified

TensorFunction = Callable[..., Tensor]

_tracing = threading.Lock()


@dataclass(frozen=True)
class FlatProgram:
    """`function(x, *data)`, replayed with as few operations as we know how.

    The function must be pure and without branches on values. It is traced at the first call (a
    tenth of a second), and again for a shape of x that the program cannot do. Before a program is
    used for a shape, and after a `doubt`, it is compared with the function itself at random points;
    where that fails, the function is called as it is.

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

    @cached_property
    def programs(self) -> dict[tuple[Any, ...], TensorFunction]:
        """What replaces the function, by shapes and kinds, and by the data where they are fixed."""
        return {}

    @cached_property
    def _trusted(self) -> set[tuple[Any, ...]]:
        """The keys of programs that have been compared with the function as it is now."""
        return set()

    def doubt(self) -> None:
        """Compare again: what the function reads besides its arguments may have been replaced."""
        self._trusted.clear()

    def __call__(self, x: Tensor, *data: Tensor) -> Tensor:
        """`function(x, *data)`, up to rounding."""
        x = x.contiguous()
        fixed = data if self.fixed_data else ()
        key = (x.shape, x.dtype, x.device, _kinds(data), fixed)
        if key not in self._trusted:
            self.programs[key] = self._program(x, data)
            self._trusted.add(key)
        program = self.programs[key]
        return program(x) if self.fixed_data else program(x, *data)

    def __getstate__(self) -> dict[str, Any]:
        """Without the programs, which another process traces for itself."""
        return {"function": self.function, "fixed_data": self.fixed_data}

    def _program(self, x: Tensor, data: tuple[Tensor, ...]) -> TensorFunction:
        """For tensors like these: a known program, a new one, or the function where both fail.

        A program holds the data that are fixed, and is of no use for others.
        """
        function = _with(self.function, data) if self.fixed_data else self.function
        probe = (_random_like(x),) if self.fixed_data else (_random_like(x), *data)
        expected = function(*probe)
        own = data if self.fixed_data else ()
        alike = [known for key, known in list(self.programs.items()) if _are(key[-1], own)]
        for known in dict.fromkeys(alike):
            if _agrees(known, probe, expected):
                return known
        program = _traced(function, probe)
        return program if _agrees(program, probe, expected) else function


def _traced(function: TensorFunction, probe: tuple[Tensor, ...]) -> TensorFunction:
    """The program of a function, or the function itself where it cannot be traced."""
    from torch.fx.experimental.proxy_tensor import make_fx  # a third of a second

    try:
        with _tracing:
            return simplified(make_fx(functionalize(function))(*probe))
    except Exception:  # whatever a tracer cannot do, the function can
        return function


def _agrees(program: TensorFunction, probe: tuple[Tensor, ...], expected: Tensor) -> bool:
    """Whether a program gives what is expected, up to √ε of its largest entry."""
    try:
        found = program(*probe)
    except Exception:  # made for another shape
        return False
    return agree(found, expected, expected.dtype)


def agree(found: Tensor, expected: Tensor, precision: torch.dtype) -> bool:
    """Whether two tensors are the same up to √ε of the largest entry, ε that of a precision."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    allowed = float(expected.nan_to_num().abs().max()) * torch.finfo(precision).eps ** 0.5
    return torch.allclose(found, expected, rtol=0, atol=allowed, equal_nan=True)


def _are(some: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> bool:
    """Whether these are the very same tensors."""
    return list(map(id, some)) == list(map(id, others))


def _with(function: TensorFunction, data: tuple[Tensor, ...]) -> TensorFunction:
    return lambda x: function(x, *data)


def _kinds(data: tuple[Tensor, ...]) -> tuple[object, ...]:
    return tuple([(part.shape, part.dtype) for part in data])


def _random_like(tensor: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype).to(tensor.device)
