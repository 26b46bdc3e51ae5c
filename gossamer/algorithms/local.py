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
    """Splits a vector of parameters into the model's tensors, and joins them again.

    If a step needs only this from its argument `local`, annotate the argument as `local: Shapes`.
    The step is then compiled on CUDA like one without this argument.

    Args:
        shapes: shapes of the parameters, in the order in which x holds them.
    """

    def __init__(self, shapes: Sequence[torch.Size]) -> None:
        self.shapes = tuple(shapes)

    def tensors(self, x: Tensor) -> list[Tensor]:
        """The model's tensors in `x`, as views; the leading axes of `x` are kept.

        >>> local = Shapes([torch.Size([2, 3]), torch.Size([2])])
        >>> [tuple(piece.shape) for piece in local.tensors(torch.zeros(4, 5, 8))]
        [(4, 5, 2, 3), (4, 5, 2)]
        """
        parts = x.split([shape.numel() for shape in self.shapes], dim=-1)
        pairs = zip(parts, self.shapes, strict=True)
        return [part.view(part.shape[:-1] + shape) for part, shape in pairs]

    def vector(self, tensors: Iterable[Tensor]) -> Tensor:
        """The inverse of `tensors`: joins the tensors into one vector."""
        pairs = zip(tensors, self.shapes, strict=True)
        flat = [z.reshape(*z.shape[: z.ndim - len(shape)], shape.numel()) for z, shape in pairs]
        return torch.cat(flat, dim=-1)

    @property
    def kinds(self) -> list[torch.Size]:
        """The different shapes, each listed once."""
        return list(dict.fromkeys(self.shapes))

    def alike(self, x: Tensor) -> list[Tensor]:
        """The model's tensors in `x`, flattened, with those of equal shape stacked.

        Returns one stack `(count, …, size)` for each of `kinds`. Work that is the same for all
        tensors of one shape then takes a few large operations.

        >>> local = Shapes([torch.Size([2, 3]), torch.Size([2]), torch.Size([2, 3])])
        >>> [tuple(stack.shape) for stack in local.alike(torch.zeros(4, 5, 14))]
        [(2, 4, 5, 6), (1, 4, 5, 2)]
        """
        parts = x.split([shape.numel() for shape in self.shapes], dim=-1)
        return [torch.stack([parts[i] for i in self._of(kind)]) for kind in self.kinds]

    def apart(self, stacks: Iterable[Tensor]) -> Tensor:
        """The inverse of `alike`: joins the stacks into one vector."""
        pairs = zip(self.kinds, stacks, strict=True)
        parts = {i: part for kind, z in pairs for i, part in zip(self._of(kind), z, strict=True)}
        return torch.cat([parts[i] for i in range(len(self.shapes))], dim=-1)

    def whole(self, stack: Tensor, kind: torch.Size) -> Tensor:
        """One of the stacks that `alike` returns, with whole tensors, e.g. for matrix products.

        This is the stack itself, unless a node consists of several processes that each hold a part
        of every tensor. They then gather the parts.
        """
        return stack

    def _of(self, kind: torch.Size) -> list[int]:
        return [i for i, shape in enumerate(self.shapes) if shape == kind]


class Local(Shapes):
    """What a step can ask its node for: a second gradient, random numbers, separate tensors.

    A step that needs any of them has one more argument, named `local`:

        def step(self, t, x, grad, state, mix, local): ...

    Such a step is run as written (not compiled), even on CUDA, unless it needs only `Shapes`. Every
    step gets a new object. If a type checker objects to the additional argument, add the comment
    `# type: ignore[override]`.

    Args:
        t: the step.
        grad: point ↦ the gradient at this point, with the sample of this step.
        chance: source of random numbers for the step's nodes and runs.
        shapes: shapes of the parameters, in the order in which x holds them.
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
        """∇f_i(`point`; ξ) with the sample ξ and the noise of this step.

        At x this is the gradient that the step was given. Each call costs one gradient evaluation.
        """
        return self._grad(point)

    def uniform(self, like: Tensor) -> Tensor:
        """A uniform random number in [0, 1) for each element of the given tensor.

        Give x, or `x[..., :1]` for one number per node. The numbers depend only on the run's seed,
        the step, the node, the coordinate and the number of earlier draws in the step. So they are
        the same in the simulator and on real processes, for a run alone and in a stack, and if the
        step is repeated.
        """
        dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
        return self._drawn(like.shape[-1], dtype).to(like, copy=True)

    def normal(self, like: Tensor) -> Tensor:
        """Standard normal random numbers; otherwise the same as `uniform`."""
        u, v = self._drawn(2 * like.shape[-1], torch.float64).chunk(2, dim=-1)
        radius = torch.sqrt(-2 * torch.log1p(-u))  # Box and Muller
        return (radius * torch.cos(2 * math.pi * v)).to(like)

    def _drawn(self, width: int, dtype: torch.dtype) -> Tensor:
        self._asked += 1
        return self._chance.numbers(self._t, self._asked - 1, width, dtype)
