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

from gossamer.digests import digest
from gossamer.problems.simplify import simplified

TensorFunction = Callable[..., Tensor]

_tracing = threading.Lock()


@dataclass(frozen=True)
class FlatProgram:
    """`function(x, *data)`, replayed with as few operations as we know how.

    The function must be pure and without branches on values. It is traced at the first call (a
    tenth of a second), and again for a shape of x that the program cannot do. Before a program is
    used for a shape, it is compared with the function itself at random points; where that fails,
    the function is called as it is. After a `doubt` a program is used again if the function gives,
    at those points, the same bits as before.

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
    def programs(self) -> dict[tuple[Any, ...], "_Known"]:
        """What replaces the function, by shapes and kinds, and by the data where they are fixed."""
        return {}

    @cached_property
    def _trusted(self) -> set[tuple[Any, ...]]:
        """The keys of programs of the function as it is now."""
        return set()

    def doubt(self) -> None:
        """Look again: what the function reads besides its arguments may have been replaced."""
        self._trusted.clear()

    def emptied(self) -> "FlatProgram":
        """For data that others have no use for, and whose programs end with this."""
        return FlatProgram(self.function, self.fixed_data)

    def __call__(self, x: Tensor, *data: Tensor) -> Tensor:
        """`function(x, *data)`, up to rounding."""
        x = x.contiguous()
        fixed = data if self.fixed_data else ()
        key = (x.shape, x.dtype, x.device, _kinds(data), fixed)
        if key not in self._trusted:
            known = self.programs.get(key)
            if known is None or not known.still_holds():
                self.programs[key] = self._found(x, data)
            self._trusted.add(key)
        program = self.programs[key].program
        return program(x) if self.fixed_data else program(x, *data)

    def __getstate__(self) -> dict[str, Any]:
        """Without the programs, which another process traces for itself."""
        return {"function": self.function, "fixed_data": self.fixed_data}

    def _found(self, x: Tensor, data: tuple[Tensor, ...]) -> "_Known":
        """For tensors like these: a known program, a new one, or the function where both fail.

        A program holds the data that are fixed, and is of no use for others.
        """
        function = _with(self.function, data) if self.fixed_data else self.function
        points = _Points(function, x, () if self.fixed_data else data)
        expected = function(*points.arguments())
        own = data if self.fixed_data else ()
        alike = [known for key, known in list(self.programs.items()) if _are(key[-1], own)]
        programs = {known.program: None for known in alike if known.still_holds()}
        for program in programs:
            if _agrees(program, points.arguments(), expected):
                return _Known(program, points, _bits(expected))
        program = _traced(function, points.arguments())
        fits = _agrees(program, points.arguments(), expected)
        return _Known(program if fits else function, points, _bits(expected))


class _Points:
    """Where a function is evaluated to know it again: the same random x, and data, every time."""

    def __init__(self, function: TensorFunction, x: Tensor, data: tuple[Tensor, ...]) -> None:
        self._function, self._data = function, data
        self._like = x.shape, x.dtype, x.device

    def arguments(self) -> tuple[Tensor, ...]:
        """x and the data."""
        shape, dtype, device = self._like
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(shape, generator=generator, dtype=dtype).to(device)
        return (x, *self._data)

    def bits(self) -> str:
        """A digest of what the function gives there."""
        return _bits(self._function(*self.arguments()))


@dataclass(frozen=True)
class _Known:
    """A program, and what its function gave when they were compared."""

    program: TensorFunction
    points: _Points
    bits: str

    def still_holds(self) -> bool:
        """Whether the function gives the same bits now."""
        return self.points.bits() == self.bits


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


def _bits(result: Tensor) -> str:
    return digest(result.detach().contiguous().view(torch.uint8))
