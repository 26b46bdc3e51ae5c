"""The head and its loss in one go: gradients of the cross-entropy without keeping the logits."""

import torch
from torch import Tensor

LOGITS_AT_ONCE = {"cpu": 2**22, "cuda": 2**28}
"""Elements of the largest piece of logits that the plain form builds: a cache, or a GPU's fill."""


def head_grad(hidden: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of every model's mean cross-entropy at its head U.

    With p = softmax(U h) at each of N positions and e_y the indicator of its target,

        ∂/∂h = Uᵀ (p − e_y)/N,        ∂/∂U = Σ_positions (p − e_y) hᵀ/N.

    Args:
        hidden: h, `(models, positions, width)`.
        weight: U, `(models, vocabulary, width)`.
        targets: y, `(models, positions)`.

    Returns the two gradients; that of U in float32 when h has less precision.

    >>> hidden, weight = torch.zeros(1, 1, 2), torch.eye(2)[None]
    >>> head_grad(hidden, weight, torch.tensor([[0]]))      # p = (½, ½)
    (tensor([[[-0.5000,  0.5000]]]), tensor([[[0., 0.], [0., 0.]]]))
    """
    if hidden.is_cuda and hidden.dtype == torch.bfloat16 and has_triton():
        from gossamer.models.head_grad_triton import head_grad_triton

        return head_grad_triton(hidden, weight, targets)
    rows = max(1, LOGITS_AT_ONCE[weight.device.type] // (weight.shape[0] * weight.shape[1]))
    accumulator = torch.float64 if weight.dtype == torch.float64 else torch.float32
    d_hidden, d_weight = torch.empty_like(hidden), torch.zeros_like(weight, dtype=accumulator)
    for piece in torch.arange(hidden.shape[1]).split(rows):
        span = slice(int(piece[0]), int(piece[-1]) + 1)
        error = _error(hidden[:, span], weight, targets[:, span]) / hidden.shape[1]
        d_hidden[:, span] = error @ weight
        d_weight += error.mT @ hidden[:, span]
    return d_hidden, d_weight


def _error(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """p − e_y, `(models, positions, vocabulary)`."""
    p = torch.softmax(hidden @ weight.mT, dim=-1)
    return p.scatter_add_(-1, targets[..., None], -torch.ones_like(p[..., :1]))


def has_triton() -> bool:
    """Whether the Triton compiler can be used."""
    from torch.utils._triton import has_triton

    return bool(has_triton())
