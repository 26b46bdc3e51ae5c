"""What a step may ask for, at a node of several processes."""

from collections.abc import Callable, Iterable
from typing import NoReturn

import torch
from torch import Tensor

from gossamer.algorithms import Local
from gossamer.distributed.inside.layout import Layout
from gossamer.distributed.inside.part import Part, plain
from gossamer.errors import InvalidInput


class PartLocal(Local):
    """A second gradient, and the parameters as tensors: stacked as parts, or gathered whole.

    Random numbers are refused: they are those of the simulator, coordinate by coordinate of a whole
    vector, which no process holds.

    Args:
        t: the step.
        grad: this process's part of a point ↦ its part of the gradient there.
        layout: who holds what.
    """

    def __init__(self, t: int, grad: Callable[[Tensor], Tensor], layout: Layout) -> None:
        super().__init__(t, self._of_parts(grad), _NoChance(), layout.shapes)
        self._layout, self._crew = layout, layout.crew

    def _of_parts(self, grad: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda point: Part.of(grad(plain(point)), self._crew)

    def tensors(self, x: Tensor) -> list[Tensor]:
        """The whole tensors; a collective."""
        return super().tensors(self._layout.whole(plain(x)))

    def vector(self, tensors: Iterable[Tensor]) -> Tensor:
        """This process's part of what `tensors` took apart."""
        return Part.of(self._layout.part(super().vector(tensors)), self._crew)

    def alike(self, x: Tensor) -> list[Tensor]:
        """This process's parts of tensors of one shape, stacked, for each kind."""
        pieces = plain(x).split(self._layout.own, dim=-1)
        stacks = [torch.stack([pieces[i] for i in self._of(kind)]) for kind in self.kinds]
        return [Part.of(stack, self._crew) for stack in stacks]

    def apart(self, stacks: Iterable[Tensor]) -> Tensor:
        """What `alike` stacked, or `whole` gathered, as this process's part."""
        pairs = zip(self.kinds, stacks, strict=True)
        own = (self._own(z, kind) for kind, z in pairs)
        held = zip(self.kinds, own, strict=True)
        parts = {i: piece for kind, z in held for i, piece in zip(self._of(kind), z, strict=True)}
        return Part.of(torch.cat([parts[i] for i in range(len(parts))], dim=-1), self._crew)

    def whole(self, stack: Tensor, kind: torch.Size) -> Tensor:
        """A stack of `alike` with all numbers of the tensors; a collective."""
        first = self._of(kind)[0]
        widths = [row[first] for row in self._layout.counts]
        return torch.cat(self._crew.each_of(plain(stack), widths), dim=-1)

    def _own(self, z: Tensor, kind: torch.Size) -> Tensor:
        return z.plain if isinstance(z, Part) else z[..., self._layout.own_span(self._of(kind)[0])]


class _NoChance:
    def numbers(self, t: int, site: int, width: int, dtype: torch.dtype) -> NoReturn:
        problem = "step: asks for random numbers on a node of several processes"
        raise InvalidInput(f"{problem}; take one process per node, or a method that asks for none")
