"""A function of tensors that has kernels of its own, for its value and for its gradients."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Kernels(NamedTuple):
    """A function of contiguous tensors, and how to compute it."""

    by_torch: Callable[..., Tensor]
    """The function itself."""

    value: Callable[..., Tensor]
    """The same, by a kernel."""

    grads: Callable[..., Iterable[Tensor | None]]
    """(which are needed, gradient in the value, tensors) ↦ gradients in the tensors."""


def by_kernels(kernels: Kernels, *tensors: Tensor) -> Tensor:
    """The function's value; derivatives of its gradients are torch's."""
    value: Tensor = _ByKernels.apply(kernels, *(tensor.contiguous() for tensor in tensors))
    return value


class _ByKernels(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernels: Kernels, *tensors: Tensor) -> Tensor:
        ctx.kernels = kernels
        ctx.save_for_backward(*tensors)
        return kernels.value(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():  # someone will differentiate the gradient
            return None, *_grads_by_torch(ctx.kernels.by_torch, tensors, needed, grad)
        return None, *ctx.kernels.grads(needed, grad.contiguous(), *tensors)


def _grads_by_torch(
    function: Callable[..., Tensor], tensors: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> list[Tensor | None]:
    asked = [tensor for tensor, need in zip(tensors, needed, strict=True) if need]
    found = iter(torch.autograd.grad(function(*tensors), asked, grad, create_graph=True))
    return [next(found) if need else None for need in needed]
