"""What a method is run on: n private objectives f_i and their average f."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, SupportsIndex

import torch
from torch import Tensor

from gossamer.data.moving import Device, destination, move
from gossamer.errors import whole
from gossamer.twin import Twin


class Problem(ABC):
    """n private objectives; f = (1/n) Σ f_i is what the nodes minimise together.

    Points carry the node axis first: `(nodes, points, dim)` means that node i evaluates its own
    f_i at each of its points.
    """

    num_nodes: int
    dim: int

    start: Tensor
    """x⁰, the common starting point, `(dim,)`."""

    optimum: Tensor | None = None
    """A minimiser of f where it is known, `(dim,)`."""

    minimum: float | None = None
    """f_* = inf f where it is known."""

    smoothness: float | None = None
    """L: every ∇f_i is L-Lipschitz, where it is known."""

    has_validation: bool = False
    """Whether there is data held out, for `validation_loss`."""

    has_accuracy: bool = False
    """Whether answers are right or wrong, for `accuracy`."""

    @property
    def parameter_shapes(self) -> tuple[torch.Size, ...]:
        """Shapes of the tensors that x is made of, one after the other; here x is one vector."""
        return (torch.Size([self.dim]),)

    @property
    def exact(self) -> bool:
        """Whether `sample_grad` is `local_grad`: no randomness of its own."""
        return self._draws_by(Problem.sample_grad)

    def _draws_by(self, function: Callable[..., Tensor]) -> bool:
        """Whether `sample_grad` is that function of a class, which no subclass has replaced."""
        return getattr(self.sample_grad, "__func__", None) is function

    @abstractmethod
    def local_loss(self, x: Tensor) -> Tensor:
        """f_i at node i's points: `(nodes, points, dim)` → `(nodes, points)`; differentiable."""

    @abstractmethod
    def local_grad(self, x: Tensor) -> Tensor:
        """∇f_i at node i's points: `(nodes, points, dim)` → the same shape; pure."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What to write in a result so that the problem can be built again; plain JSON."""

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The stochastic gradient of step `t`, run r drawing from the stream of `seeds[r]`.

        A pure function of its arguments: asked twice, it answers the same. Problems without
        randomness of their own return the exact gradient.
        """
        return self.local_grad(x)

    def momentary_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The same, perhaps in memory that the next call overwrites."""
        return self.sample_grad(x, t, seeds)

    def twin(self, x: Tensor) -> Twin | None:
        """The copy of points like `x` that `momentary_grad` reads, if it reads one."""
        return None

    def loss(self, points: Tensor) -> Tensor:
        """f at each of the points: `(points, dim)` → `(points,)`."""
        return self.local_loss(points.expand(self.num_nodes, *points.shape)).mean(0)

    def validation_loss(self, points: Tensor) -> Tensor:
        """The mean loss on data held out: `(points, dim)` → `(points,)`."""
        raise NotImplementedError(f"{type(self).__name__} holds no data out")

    def accuracy(self, points: Tensor) -> Tensor:
        """The share of right answers: `(points, dim)` → `(points,)`.

        On data held out, where there is any.
        """
        raise NotImplementedError(f"{type(self).__name__} has no right and wrong answers")

    def grad(self, points: Tensor) -> Tensor:
        """∇f at each of the points: `(points, dim)` → `(points, dim)`."""
        return self.local_grad(points.expand(self.num_nodes, *points.shape)).mean(0)

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same problem on another device, its floating-point tensors in another precision.

        As torch's: `to("cuda")`, `to(torch.float32)` and `to("cuda", torch.float32)`. Itself where
        it is there already.
        """
        device, dtype = destination(device, dtype)
        there = device is None or self.start.device == _indexed(device)
        if there and dtype in (None, self.start.dtype):
            return self
        moved = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(moved, name, move(value, device, dtype))
        return moved

    def expecting(self, steps: int) -> Self:
        """The same problem, of which the gradients of so many steps will be asked.

        One that can prepare itself for long work, e.g. by a compiler, does so where it pays.
        """
        return self

    def facts(self) -> dict[str, str]:
        """What is known about it, in words."""
        known = {"L": self.smoothness, "minimum": self.minimum}
        return {
            "nodes": f"{self.num_nodes:,}",
            "parameters": f"{self.dim:,}",
            "gradients": "exact" if self.exact else "of random samples",
            **{name: f"{value:.4g}" for name, value in known.items() if value is not None},
            "optimum": "known" if self.optimum is not None else "not known",
        }

    def _repr_html_(self) -> str:
        """In notebooks."""
        from gossamer.display import facts

        return facts(repr(self), self.facts())

    def __repr__(self) -> str:
        return as_call(type(self).__name__, num_nodes=self.num_nodes, dim=self.dim)


def as_call(name: str, **arguments: object) -> str:
    """How a problem shows itself: `name(argument=value, …)`."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _indexed(device: Device) -> torch.device:
    """The device with its number: "cuda" is the current one."""
    return torch.empty(0, device=device).device


def require_nodes(num_nodes: SupportsIndex) -> int:
    """A positive number of nodes, as an int; one node is the central method."""
    return whole("num_nodes", num_nodes, 1)
