"""What a method is run on: n private objectives f_i and their average f."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, SupportsIndex

import torch
from torch import Tensor

from gossamer.data.moving import Device, destination, move
from gossamer.errors import require, whole
from gossamer.twin import Twin


class Problem(ABC):
    """n private objectives f_i; the nodes together minimize their average f = (1/n) Σ_i f_i.

    The first axis of a tensor of points counts the nodes: if the shape is `(nodes, points, dim)`,
    node i evaluates its own f_i at each of its points.
    """

    num_nodes: int
    dim: int

    start: Tensor
    """x⁰, the common starting point, `(dim,)`."""

    optimum: Tensor | None = None
    """A minimizer of f, `(dim,)`, if one is known."""

    minimum: float | None = None
    """f_* = inf f, if it is known."""

    smoothness: float | None = None
    """A number L for which every ∇f_i is L-Lipschitz, if one is known."""

    has_validation: bool = False
    """Whether there is held-out data, so that `validation_loss` can be computed."""

    has_accuracy: bool = False
    """Whether answers are right or wrong, so that `accuracy` can be computed."""

    slow_gradients: bool = False
    """Whether `local_grad` takes as long as many steps, so that metrics have to be asked for it."""

    @property
    def parameter_shapes(self) -> tuple[torch.Size, ...]:
        """Shapes of the tensors whose numbers form the vector x; here x is a single tensor."""
        return (torch.Size([self.dim]),)

    @property
    def exact(self) -> bool:
        """Whether `sample_grad` returns ∇f_i itself, without randomness, as `local_grad` does."""
        return self._draws_by(Problem.sample_grad)

    def _draws_by(self, function: Callable[..., Tensor]) -> bool:
        """Whether `sample_grad` is that function of a class, which no subclass has replaced."""
        return getattr(self.sample_grad, "__func__", None) is function

    @abstractmethod
    def local_loss(self, x: Tensor) -> Tensor:
        """f_i at node i's points: `(nodes, points, dim)` → `(nodes, points)`; differentiable."""

    @abstractmethod
    def local_grad(self, x: Tensor) -> Tensor:
        """∇f_i at node i's points: `(nodes, points, dim)` → the same shape; no side effects."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """A description in plain JSON, which results keep to identify the problem.

        It may have digests in place of data.
        """

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The stochastic gradient of step `t`; the random numbers of run r come from `seeds[r]`.

        The result depends only on the arguments: the same call gives the same gradient. Problems
        without randomness of their own return ∇f_i.
        """
        return self.local_grad(x)

    def momentary_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """As `sample_grad`, but the next call may overwrite the result."""
        return self.sample_grad(x, t, seeds)

    def twin(self, x: Tensor) -> Twin | None:
        """Memory for the copy of `x` that `momentary_grad` reads; None if it reads no copy.

        On CUDA some problems read their points from a copy, often in a lower precision, that is
        always at the same place in memory (a `gossamer.twin.Twin`). The simulator's `Mixer` can
        write this copy in the same pass as the new x.
        """
        return None

    def loss(self, points: Tensor) -> Tensor:
        """f at each of the points: `(points, dim)` → `(points,)`."""
        return self.local_loss(points.expand(self.num_nodes, *points.shape)).mean(0)

    def validation_loss(self, points: Tensor) -> Tensor:
        """The mean loss on held-out data: `(points, dim)` → `(points,)`."""
        raise NotImplementedError(f"{type(self).__name__} holds no data out")

    def accuracy(self, points: Tensor) -> Tensor:
        """The share of right answers: `(points, dim)` → `(points,)`.

        It is evaluated on held-out data, if there is any.
        """
        raise NotImplementedError(f"{type(self).__name__} has no right and wrong answers")

    def grad(self, points: Tensor) -> Tensor:
        """∇f at each of the points: `(points, dim)` → `(points, dim)`."""
        x = points.expand(self.num_nodes, *points.shape)
        grad = self.local_grad(x)
        found = f"shape {tuple(grad.shape)} at points of shape {tuple(x.shape)}"
        need = "one gradient per point, the same shape"
        require(grad.shape == x.shape, "local_grad", found, need)  # broadcasting would hide it
        return grad.mean(0)

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same problem on another device, with its floating-point tensors in another precision.

        It is called like torch's: `to("cuda")`, `to(torch.float32)` or `to("cuda", torch.float32)`.
        It returns the problem itself if nothing has to change.
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
        """The same problem, prepared for the gradients of this many steps; called before the first.

        Some problems compile their gradient if there are enough steps for this to pay.
        """
        return self

    def untimed(self) -> Self:
        """The same problem, but without choices that depend on measured times.

        So its gradients are the same, bit for bit, whatever else the machine does.
        """
        return self

    def facts(self) -> dict[str, str]:
        """Facts about the problem, as text."""
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
