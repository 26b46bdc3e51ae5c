"""What a step may ask for beyond its arguments: all of it is at hand at its own node."""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from gossamer.networks.chance import DIGITS, Coins


def step_coins(seeds: int | Sequence[int], nodes: int | Tensor) -> Coins:
    """The random numbers of steps, for runs with these seeds and these nodes, as `Coins.of`."""
    return Coins.of(seeds, nodes, "step")


class Local:
    """A second gradient, random numbers, and the parameters as the tensors they are.

    A step that asks for it has one more argument, named `local`:

        def step(self, t, x, grad, state, mix, local): ...

    and is run as it is written, on CUDA too. Made anew for every step.

    Args:
        t: the step.
        grad: point ↦ the gradient there of the sample of this step.
        coins: `step_coins` of the nodes and runs of the step's tensors.
        shapes: of the parameters, in the order in which x holds them.
    """

    def __init__(
        self,
        t: int,
        grad: Callable[[Tensor], Tensor],
        coins: Coins,
        shapes: Sequence[torch.Size],
    ) -> None:
        self._t, self._grad, self._coins, self._asked = t, grad, coins, 0
        self.shapes = tuple(shapes)

    def grad(self, point: Tensor) -> Tensor:
        """∇f_i(`point`; ξ) for the sample ξ of this step and with the noise of this step.

        At x it is `grad` again. Asking costs a gradient.
        """
        return self._grad(point)

    # ------------------------------------------------------------------ random numbers

    def uniform(self, like: Tensor) -> Tensor:
        """Numbers in [0, 1), shaped like `like`, which is like x or like `x[..., :1]`.

        They are a function of the run's seed, the step, the node, the coordinate, and how often
        the step has asked: the same in the simulator and on processes, alone and in a stack, for
        the step taken again.

        >>> stack = Local(3, torch.zeros_like, step_coins([0, 1], torch.arange(4)), ())
        >>> node_2 = Local(3, torch.zeros_like, step_coins(1, 2), ())
        >>> torch.equal(stack.uniform(torch.ones(4, 2, 5))[2, 1], node_2.uniform(torch.ones(5)))
        True
        """
        dtype = like.dtype if like.dtype in DIGITS else torch.float32
        return self._drawn(like.shape[-1], dtype).to(like, copy=True)

    def normal(self, like: Tensor) -> Tensor:
        """Standard normal numbers, else as `uniform`."""
        u, v = self._drawn(2 * like.shape[-1], torch.float64).chunk(2, dim=-1)
        radius = torch.sqrt(-2 * torch.log1p(-u))  # Box and Muller
        return (radius * torch.cos(2 * math.pi * v)).to(like)

    def _drawn(self, width: int, dtype: torch.dtype) -> Tensor:
        coins, self._asked = self._coins.at(self._t, self._asked), self._asked + 1
        return coins.deal(coins.uniform(width, dtype))

    # ------------------------------------------------------------------ parameters as tensors

    def tensors(self, x: Tensor) -> list[Tensor]:
        """The pieces of `x`, of any leading axes, each a view shaped like its parameter.

        >>> shapes = [torch.Size([2, 3]), torch.Size([2])]
        >>> local = Local(0, torch.zeros_like, step_coins(0, 0), shapes)
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
