"""What a step may ask for beyond its arguments: all of it is at hand at its own node."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

STREAM = "step"
"""What the stream of random numbers that steps ask for is called."""


class Chance(Protocol):
    """Random numbers that are a pure function, as `Coins` of nodes and runs are."""

    def numbers(self, t: int, site: int, width: int, dtype: torch.dtype) -> Tensor:
        """`width` numbers in [0, 1) for each node and run, of step `t` and question `site`."""
        ...


class Shapes:
    """The parameters as the tensors they are.

    A step that asks for nothing else says so in the annotation of its argument, `local: Shapes`,
    and is compiled on CUDA like any other.

    Args:
        shapes: of the parameters, in the order in which x holds them.
    """

    def __init__(self, shapes: Sequence[torch.Size]) -> None:
        self.shapes = tuple(shapes)

    def tensors(self, x: Tensor) -> list[Tensor]:
        """The pieces of `x`, of any leading axes, each a view shaped like its parameter.

        >>> local = Shapes([torch.Size([2, 3]), torch.Size([2])])
        >>> [tuple(piece.shape) for piece in local.tensors(torch.zeros(4, 5, 8))]
        [(4, 5, 2, 3), (4, 5, 2)]
        """
        parts = x.split([shape.numel() for shape in self.shapes], dim=-1)
        pairs = zip(parts, self.shapes, strict=True)
        return [part.view(part.shape[:-1] + shape) for part, shape in pairs]

    def vector(self, tensors: Iterable[Tensor]) -> Tensor:
        """What `tensors` took apart."""
        pairs = zip(tensors, self.shapes, strict=True)
        flat = [z.reshape(*z.shape[: z.ndim - len(shape)], shape.numel()) for z, shape in pairs]
        return torch.cat(flat, dim=-1)

    @property
    def kinds(self) -> list[torch.Size]:
        """The shapes that there are, each once."""
        return list(dict.fromkeys(self.shapes))

    def alike(self, x: Tensor) -> list[Tensor]:
        """The pieces of `x`, flat, those of one shape stacked: `(count, …, size)` for each kind.

        What is the same work for tensors of one shape is then a few large operations.

        >>> local = Shapes([torch.Size([2, 3]), torch.Size([2]), torch.Size([2, 3])])
        >>> [tuple(stack.shape) for stack in local.alike(torch.zeros(4, 5, 14))]
        [(2, 4, 5, 6), (1, 4, 5, 2)]
        """
        parts = x.split([shape.numel() for shape in self.shapes], dim=-1)
        return [torch.stack([parts[i] for i in self._of(kind)]) for kind in self.kinds]

    def apart(self, stacks: Iterable[Tensor]) -> Tensor:
        """What `alike` stacked."""
        pairs = zip(self.kinds, stacks, strict=True)
        parts = {i: part for kind, z in pairs for i, part in zip(self._of(kind), z, strict=True)}
        return torch.cat([parts[i] for i in range(len(self.shapes))], dim=-1)

    def whole(self, stack: Tensor, kind: torch.Size) -> Tensor:
        """A stack of `alike`, for what needs all numbers of a tensor, as matrix products do.

        It is the stack itself, unless several processes share the tensors, which then gather them.
        """
        return stack

    def _of(self, kind: torch.Size) -> list[int]:
        return [i for i, shape in enumerate(self.shapes) if shape == kind]


class Local(Shapes):
    """A second gradient, random numbers, and the parameters as the tensors they are.

    A step that asks for it has one more argument, named `local`:

        def step(self, t, x, grad, state, mix, local): ...

    and is run as it is written, on CUDA too, unless it asks for `Shapes` only. Made anew for every
    step. A type checker that finds the extra argument strange is told `# type: ignore[override]`.

    Args:
        t: the step.
        grad: point ↦ the gradient there of the sample of this step.
        chance: the random numbers of the nodes and runs of the step's tensors.
        shapes: of the parameters, in the order in which x holds them.
    """

    def __init__(
        self,
        t: int,
        grad: Callable[[Tensor], Tensor],
        chance: Chance,
        shapes: Sequence[torch.Size],
    ) -> None:
        super().__init__(shapes)
        self._t, self._grad, self._chance, self._asked = t, grad, chance, 0

    def grad(self, point: Tensor) -> Tensor:
        """∇f_i(`point`; ξ) for the sample ξ of this step and with the noise of this step.

        At x it is `grad` again. Asking costs a gradient.
        """
        return self._grad(point)

    def uniform(self, like: Tensor) -> Tensor:
        """Numbers in [0, 1), shaped like `like`, which is like x or like `x[..., :1]`.

        They are a function of the run's seed, the step, the node, the coordinate, and how often
        the step has asked: the same in the simulator and on processes, alone and in a stack, for
        the step taken again.
        """
        dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
        return self._drawn(like.shape[-1], dtype).to(like, copy=True)

    def normal(self, like: Tensor) -> Tensor:
        """Standard normal numbers, else as `uniform`."""
        u, v = self._drawn(2 * like.shape[-1], torch.float64).chunk(2, dim=-1)
        radius = torch.sqrt(-2 * torch.log1p(-u))  # Box and Muller
        return (radius * torch.cos(2 * math.pi * v)).to(like)

    def _drawn(self, width: int, dtype: torch.dtype) -> Tensor:
        self._asked += 1
        return self._chance.numbers(self._t, self._asked - 1, width, dtype)
