"""The two verbs of communication: what is averaged is pulled, what is summed is pushed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor


class Mix(Protocol):
    """One round of communication.

    An *opinion*, such as the parameters x, is everybody's, to be averaged: equal values stay equal.
    A *total*, such as a tracker y, counts by its sum over the nodes: the sum stays. On a network
    with a doubly stochastic W both are z ↦ W z.
    """

    def pull(self, z: Tensor) -> Tensor:
        """R z with rows that sum to 1: pull(1) = 1."""
        ...

    def push(self, z: Tensor) -> Tensor:
        """C z with columns that sum to 1: Σ push(z) = Σ z."""
        ...


@dataclass(frozen=True)
class Both:
    """A plain function z ↦ W z as both verbs, for tests and notebooks."""

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
    """The precision in which parameters of this dtype are kept between steps: at least float32.

    A step is mostly smaller than the last digit of a parameter in bfloat16 or float16.

    >>> state_dtype(torch.bfloat16), state_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return dtype if dtype.itemsize >= 4 else torch.float32


def total_like(x: Tensor) -> Tensor:
    """A total of 0 for the parameters `x`: zeros in float64, whatever the precision of x.

    What rounding takes from a total is gone for ever, and heavy tails are made of spikes: in
    float32, a gradient of 1e8 takes several units with it. Sums with tensors of a lower precision
    are in float64 again.

    >>> x, spike = torch.zeros(1), torch.tensor([1e8])
    >>> (x + 0.25 + spike - spike).item(), (total_like(x) + 0.25 + spike - spike).item()
    (0.0, 0.25)
    """
    return torch.zeros_like(x, dtype=torch.float64)
