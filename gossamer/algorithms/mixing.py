"""The two verbs of communication: what is averaged is pulled, what is summed is pushed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor


class Mix(Protocol):
    """One round of communication, in which every node hears its neighbours.

    It treats two kinds of quantities differently. An *opinion*, such as the parameters x, is a
    value on which the nodes are to agree. `pull` averages it, and nodes that agree still agree
    afterwards. A *total*, such as a gradient tracker y, is a value whose sum over the nodes must
    not change when the nodes mix. `push` redistributes it and keeps the sum.

    With a doubly stochastic W both compute W z. A network on which both are the same is called
    *balanced*.
    """

    def pull(self, z: Tensor) -> Tensor:
        """R z, where the rows of R sum to 1, so that equal values stay equal."""
        ...

    def push(self, z: Tensor) -> Tensor:
        """C z, where the columns of C sum to 1, so that the sum over the nodes stays the same."""
        ...


@dataclass(frozen=True)
class Both:
    """A `Mix` that pulls and pushes with one function z ↦ W z, for tests and notebooks."""

    mix: Callable[[Tensor], Tensor]

    def pull(self, z: Tensor) -> Tensor:
        """W z."""
        return self.mix(z)

    def push(self, z: Tensor) -> Tensor:
        """W z."""
        return self.mix(z)


def takes_functions(step: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` whose `mix` may also be a plain function, of a method that may have schedules."""

    @wraps(step)
    def taken(self: Any, t: Any, x: Any, grad: Any, state: Any, mix: Any, *local: Any) -> Any:
        method = self.at(t, x) if self.scheduled else self
        verbs = mix if hasattr(mix, "push") else Both(mix)
        return step(method, t, x, grad, state, verbs, *local)

    return taken


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision in which parameters of this dtype are kept between steps, at least float32.

    In bfloat16 or float16 most steps are smaller than the last digit of a parameter and would be
    lost.

    >>> state_dtype(torch.bfloat16), state_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return dtype if dtype.itemsize >= 4 else torch.float32


def total_like(x: Tensor) -> Tensor:
    """Zeros in the shape of `x`, always in float64: the initial value of a total (see `Mix`).

    Rounding errors change the sum of a total for ever, and heavy-tailed noise makes them large: in
    float32, adding and then subtracting a gradient of 1e8 changes a total by several units. A total
    stays in float64 if tensors of a lower precision are added to it.

    >>> x, spike = torch.zeros(1), torch.tensor([1e8])
    >>> (x + 0.25 + spike - spike).item(), (total_like(x) + 0.25 + spike - spike).item()
    (0.0, 0.25)
    """
    return torch.zeros_like(x, dtype=torch.float64)
