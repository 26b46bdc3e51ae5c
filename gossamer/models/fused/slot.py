"""A model's parameters, and where the operation that uses one puts its gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gossamer.captured import Aside


class Slot(NamedTuple):
    """A parameter of all models, `(models, …)`, that one operation uses.

    Both are views of rows that hold all of a model's parameters.
    """

    value: Tensor
    """In the precision of the evaluation."""

    grad: Tensor
    """Zeros, in the precision to sum in, which the operation's backward pass makes the gradient."""

    aside: Aside
    """Where to do what nothing but the gradient waits for."""

    def tracked(self) -> Tensor:
        """The value, whose gradient autograd finds and adds to `grad`."""
        return _Tracked.apply(self.value.requires_grad_(), self.grad)


class Layer(NamedTuple):
    """Weight and bias of a linear layer, `(models, out, in)` and `(models, out)`, or LayerNorm."""

    weight: Slot
    bias: Slot

    def values(self) -> tuple[Tensor, Tensor]:
        """Both values."""
        return self.weight.value, self.bias.value

    def tracked(self) -> tuple[Tensor, Tensor]:
        """Both values, whose gradients autograd finds and adds."""
        return self.weight.tracked(), self.bias.tracked()

    def strides(self) -> tuple[int, int]:
        """From one model's value to the next one's, and from gradient to gradient."""
        return self.bias.value.stride(0), self.bias.grad.stride(0)


class _Tracked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, grad: Tensor) -> Tensor:
        ctx.grad = grad
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None]:
        ctx.grad += grads[0]
        return None, None
