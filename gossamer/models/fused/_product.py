"""Linear layers of all models as one batched product."""

from typing import Any

import torch
from torch import Tensor

from gossamer.models.fused.slot import Slot


def product(h: Tensor, weight: Slot) -> Tensor:
    """h Wᵀ for every model: `(models, positions, in)`, `(models, out, in)` → `(…, out)`."""
    return _Product.apply(h, weight)


def put_weight_grad(d_out: Tensor, h: Tensor, to: Tensor) -> None:
    """Make `to` the gradient of W in h Wᵀ: Σ_positions d_out hᵀ for every model."""
    if h.is_cuda and h.dtype == torch.bfloat16:
        torch.bmm(d_out.mT, h, out_dtype=to.dtype, out=to)
    else:
        to.copy_(torch.bmm(d_out.mT, h))


def product_grad(d_out: Tensor, h: Tensor, weight: Slot) -> Tensor:
    """∂h of h Wᵀ; that of W is put where it belongs, aside."""
    weight.aside.do(put_weight_grad, d_out, h, weight.grad)
    return torch.bmm(d_out, weight.value)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Slot) -> Tensor:
        ctx.save_for_backward(h)
        ctx.weight = weight
        return torch.bmm(h, weight.value.mT)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (h,) = ctx.saved_tensors
        return product_grad(grads[0], h, ctx.weight), None
