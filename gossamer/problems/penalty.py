"""Penalties: a function of the parameters that every node adds to its loss."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor
from torch.func import grad, vmap

from gossamer.errors import require
from gossamer.interval import NONNEGATIVE, within
from gossamer.problems.flat_program import FlatProgram
from gossamer.problems.module_failures import refusing
from gossamer.source import name_of, source_of

VectorFunction = Callable[[Tensor], Tensor]
"""x, `(dim,)` ↦ a scalar, differentiable."""


class Penalty(ABC):
    """A function r(x) that is added to every f_i, and therefore to f."""

    @property
    def smoothness(self) -> float | None:
        """A Lipschitz constant of ∇r, if one is known."""
        return None

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """r at every point: `(…, dim)` → `(…)`."""

    @abstractmethod
    def grad(self, x: Tensor) -> Tensor:
        """∇r at every point: `(…, dim)` → the same shape."""

    def doubt(self) -> None:  # noqa: B027  # most have found nothing out
        """Forget what was found out about r, because what r reads may have been replaced."""

    @abstractmethod
    def describe(self) -> str:
        """A text that is stored with results, e.g. the Python call that makes the penalty."""


@dataclass(frozen=True)
class L2Penalty(Penalty):
    """r(x) = (λ/2) ‖x‖² with λ = `weight`.

    >>> import torch
    >>> L2Penalty(0.5)(torch.tensor([1.0, 2.0]))
    tensor(1.2500)
    """

    weight: float

    def __post_init__(self) -> None:
        within("weight", self.weight, NONNEGATIVE)

    @property
    def smoothness(self) -> float:
        """λ."""
        return self.weight

    def __call__(self, x: Tensor) -> Tensor:
        """(λ/2) Σ x_k²."""
        return self.weight / 2 * x.square().sum(-1)

    def grad(self, x: Tensor) -> Tensor:
        """λ x."""
        return self.weight * x

    def describe(self) -> str:
        """The Python call that makes it."""
        return repr(self)


@dataclass(frozen=True)
class NonconvexPenalty(Penalty):
    """r(x) = λ Σ_k x_k² / (1 + x_k²) with λ = `weight`: it shrinks only small coordinates.

    The k-th term of the sum has the derivative 2 x_k / (1 + x_k²)² and a second derivative between
    −1/2 and 2, so that ∇r is 2λ-Lipschitz. The penalty makes the losses of convex models nonconvex,
    as in Antoniadis et al. (2011).

    >>> import torch
    >>> NonconvexPenalty(0.5)(torch.tensor([0.0, 1.0, -1.0]))
    tensor(0.5000)
    """

    weight: float

    def __post_init__(self) -> None:
        within("weight", self.weight, NONNEGATIVE)

    @property
    def smoothness(self) -> float:
        """2λ."""
        return 2 * self.weight

    def __call__(self, x: Tensor) -> Tensor:
        """λ Σ_k x_k² / (1 + x_k²)."""
        square = x.square()
        return self.weight * (square / (1 + square)).sum(-1)

    def grad(self, x: Tensor) -> Tensor:
        """2λ x_k / (1 + x_k²)² in coordinate k."""
        return 2 * self.weight * x / (1 + x.square()).square()

    def describe(self) -> str:
        """The Python call that makes it."""
        return repr(self)


@dataclass(frozen=True)
class _Slopes:
    """∇ of a function of a vector, at many points."""

    function: VectorFunction

    def __call__(self, x: Tensor) -> Tensor:
        return vmap(grad(self.function))(x)


@dataclass(frozen=True, repr=False)
class FunctionPenalty(Penalty):
    """r as one's own function of a vector, with its gradient by automatic differentiation.

    >>> def fourth_powers(x):
    ...     return (x**4).sum()
    >>> FunctionPenalty(fourth_powers)
    FunctionPenalty(fourth_powers)
    """

    function: VectorFunction

    @cached_property
    def _slope(self) -> FlatProgram:
        return FlatProgram(_Slopes(self.function))

    def doubt(self) -> None:
        """Check again whether the traced gradient is still that of the function."""
        self._slope.doubt()

    def __call__(self, x: Tensor) -> Tensor:
        """`function` at every point."""
        return vmap(self.function)(x.reshape(-1, x.shape[-1])).view(x.shape[:-1])

    def grad(self, x: Tensor) -> Tensor:
        """Its derivative at every point."""
        return self._slope(x.reshape(-1, x.shape[-1])).view(x.shape)

    def describe(self) -> str:
        """The function's source, or its name."""
        return source_of(self.function)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({name_of(self.function)})"


def as_penalty(penalty: Penalty | VectorFunction | None, x: Tensor) -> Penalty | None:
    """A penalty as it is, or made of a function from a vector to a scalar, which is tried at x."""
    if penalty is None or isinstance(penalty, Penalty):
        return penalty
    need = "a function from a vector to a scalar, or e.g. gs.L2Penalty(0.01)"
    require(callable(penalty), "penalty", repr(penalty), need)
    name = name_of(penalty)
    with refusing(lambda reason: f"penalty: got {name}, which fails at x⁰ ({reason}), need {need}"):
        value = penalty(x)
    shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
    require(shape == (), "penalty", f"{name}, which returns {shape}", f"{need}; e.g. take the sum")
    return FunctionPenalty(penalty)


def penalized(values: Tensor, penalty: Penalty | None, x: Tensor) -> Tensor:
    """f_i + r."""
    return values if penalty is None else values + penalty(x)


def penalized_grad(grads: Tensor, penalty: Penalty | None, x: Tensor) -> Tensor:
    """∇f_i + ∇r."""
    return grads if penalty is None else grads + penalty.grad(x)
