"""The head and its loss in one go: gradients of the cross-entropy without keeping the logits.

The kernels hold logits in registers only, as flash attention holds scores. With s = U h and
p = softmax(s), ∂/∂h = (Σ_v p_v U_v − U_y)/N is attention with the query h and keys = values = U,
and its pass over the vocabulary also yields log Σ exp s. A second pass, over the positions,
recomputes p for Σ p_v h/N, the first part of ∂/∂U_v.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.models.fused.launch import has_kernel
from gossamer.models.fused.rows import add_rows
from gossamer.triton_language import jit, tl

LOGITS_AT_ONCE = {"cpu": 2**22, "cuda": 2**28}
"""Elements of the largest piece of logits that the plain form builds: a cache, or a GPU's fill."""

TILE, STEP = 64, 128
"""Rows that a program holds and rows that it reads at a time; fastest on an H200 at width 128."""


def head_grad(hidden: Tensor, weight: Tensor, targets: Tensor, d_weight: Tensor) -> Tensor:
    """Gradients of every model's mean cross-entropy at its head U.

    With p = softmax(U h) at each of N positions and e_y the indicator of its target,

        ∂/∂h = Uᵀ (p − e_y)/N,        ∂/∂U = Σ_positions (p − e_y) hᵀ/N.

    Args:
        hidden: h, `(models, positions, width)`.
        weight: U, `(models, vocabulary, width)`.
        targets: y, `(models, positions)`.
        d_weight: where to write ∂/∂U, in the precision to sum in.

    Returns ∂/∂h.

    >>> hidden, weight = torch.ones(1, 1, 2), torch.zeros(1, 3, 2)
    >>> d_weight = torch.empty(1, 3, 2)
    >>> head_grad(hidden, weight, torch.tensor([[0]]), d_weight)      # p = (⅓, ⅓, ⅓)
    tensor([[[0., 0.]]])
    >>> d_weight
    tensor([[[-0.6667, -0.6667], [ 0.3333,  0.3333], [ 0.3333,  0.3333]]])
    """
    if has_kernel(hidden):
        return _fused_head_grad(hidden, weight, targets, d_weight)
    rows = max(1, LOGITS_AT_ONCE[weight.device.type] // (weight.shape[0] * weight.shape[1]))
    d_weight.zero_()
    d_hidden = []
    for h, y in zip(hidden.split(rows, 1), targets.split(rows, 1), strict=True):
        p = torch.softmax(h @ weight.mT, -1, dtype=d_weight.dtype)
        p.scatter_add_(-1, y[..., None], -torch.ones_like(p[..., :1]))
        error = (p / hidden.shape[1]).to(h.dtype)  # (p − e_y)/N
        d_hidden.append(error @ weight)
        d_weight += error.mT @ h
    return torch.cat(d_hidden, 1)


def _fused_head_grad(hidden: Tensor, weight: Tensor, targets: Tensor, d_weight: Tensor) -> Tensor:
    """The two passes, then −h at the target's row of ∂/∂U.

    There p is near 1 when the model is sure, and the second pass has rounded it to bfloat16; the
    factor of h takes that rounding back, (p − 1) − rounded(p).
    """
    models, positions, width = hidden.shape
    vocabulary, targets = weight.shape[1], targets.contiguous()
    d_hidden = torch.empty_like(hidden)
    log_sum, factor = torch.empty(2, *targets.shape, dtype=torch.float32, device=weight.device)
    sizes = (positions, vocabulary, weight.stride(0), d_weight.stride(0), 1 / positions)
    blocks = (width, TILE, STEP)
    _hidden_grad[-(-positions // TILE), models](
        hidden, weight, targets, d_hidden, log_sum, factor, *sizes, *blocks,
        num_warps=4, num_stages=3,
    )  # fmt: skip
    _weight_grad[-(-vocabulary // TILE), models](
        hidden, weight, log_sum, d_weight, *sizes, *blocks, num_warps=4, num_stages=3
    )
    apart = d_weight.stride(0) // width  # rows from one model's head to the next one's
    table = d_weight.as_strided(((models - 1) * apart + vocabulary, width), (width, 1))
    row = targets + apart * torch.arange(models, device=targets.device)[:, None]
    add_rows(table, row.flatten(), hidden.flatten(0, 1), factor.flatten())
    return d_hidden


@jit
def _rows(base, row, count, WIDTH: tl.constexpr):
    """Rows of a matrix of that width, zeros beyond its end."""
    where = row[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    return tl.load(base + where, mask=(row < count)[:, None], other=0.0)


@jit
def _absorb(s, u, largest, total, mean):
    """Add the words of scores s and rows u to max s, Σ 2^(s − max) and Σ 2^(s − max) u."""
    larger = tl.maximum(largest, tl.max(s, 1))
    p = tl.exp2(s - larger[:, None])
    shrink = tl.exp2(largest - larger)
    mean = tl.dot(p.to(u.dtype), u, mean * shrink[:, None])
    return larger, total * shrink + tl.sum(p, 1), mean


@jit
def _hidden_grad(
    hidden, weight, targets, d_hidden, log_sum, factor,
    positions, vocabulary, weight_stride, grad_stride, scale,
    WIDTH: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    weight += model * weight_stride
    h = _rows(hidden + model * positions * WIDTH, row, positions, WIDTH)
    largest = tl.full([TILE], -float("inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mean = tl.zeros([TILE, WIDTH], tl.float32)
    full = vocabulary // STEP * STEP
    for start in range(0, full, STEP):
        word = start + tl.arange(0, STEP)
        u = tl.load(weight + word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
        s = tl.dot(h, tl.trans(u)) * 1.4426950408889634  # to base 2
        largest, total, mean = _absorb(s, u, largest, total, mean)
    if full < vocabulary:
        word = full + tl.arange(0, STEP)
        u = _rows(weight, word, vocabulary, WIDTH)
        s = tl.dot(h, tl.trans(u)) * 1.4426950408889634
        s = tl.where((word < vocabulary)[None, :], s, -float("inf"))
        largest, total, mean = _absorb(s, u, largest, total, mean)
    inside = row < positions
    at = model * positions + row
    target = tl.load(targets + at, mask=inside, other=0)
    u = _rows(weight, target, vocabulary, WIDTH).to(tl.float32)
    logs = largest + tl.log2(total)
    p = tl.exp2(tl.sum(h.to(tl.float32) * u, 1) * 1.4426950408889634 - logs)
    rounded = p.to(h.dtype).to(tl.float32)
    tl.store(log_sum + at, logs, mask=inside)
    tl.store(factor + at, ((p - rounded) - 1) * scale, mask=inside)
    d_h = (mean / total[:, None] - u) * scale
    where = at[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(d_hidden + where, d_h.to(h.dtype), mask=inside[:, None])


@jit
def _weight_grad(
    hidden, weight, log_sum, d_weight,
    positions, vocabulary, weight_stride, grad_stride, scale,
    WIDTH: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    model = tl.program_id(1).to(tl.int64)
    word = tl.program_id(0) * TILE + tl.arange(0, TILE)
    hidden += model * positions * WIDTH
    log_sum += model * positions
    u = _rows(weight + model * weight_stride, word, vocabulary, WIDTH)
    total = tl.zeros([TILE, WIDTH], tl.float32)
    for start in range(0, positions, STEP):
        row = start + tl.arange(0, STEP)
        h = _rows(hidden, row, positions, WIDTH)
        logs = tl.load(log_sum + row, mask=row < positions, other=float("inf"))
        p = tl.exp2(tl.dot(u, tl.trans(h)) * 1.4426950408889634 - logs[None, :])
        total = tl.dot(p.to(h.dtype), h, total)
    where = word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    grad = d_weight + model * grad_stride + where
    tl.store(grad, total * scale, mask=(word < vocabulary)[:, None])
