"""The head and its loss in one go: gradients of the cross-entropy without keeping the logits.

The kernels hold logits in registers only, as flash attention holds scores. With s = U h and
p = softmax(s), ∂/∂h = (Σ_v p_v U_v − U_y)/N is attention with the query h and keys = values = U,
and its pass over the vocabulary also yields log Σ exp s. A second pass, over the positions,
recomputes p for Σ p_v h/N, the first part of ∂/∂U_v.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel, is_power_of_two, shared_memory
from gossamer.models.fused.rows import add_rows
from gossamer.models.fused.slot import Slot
from gossamer.models.fused.softmax_error import softmax_error
from gossamer.triton_language import jit, tl

LOGITS_AT_ONCE = {"cpu": 2**22, "cuda": 2**28}
"""Elements of the largest piece of logits that the plain form builds: a cache, or a GPU's fill."""


ALIGNED = 8
"""Columns of which a product on a GPU likes to have a multiple."""


class Blocks(NamedTuple):
    """How a program of the two passes goes through its matrices of the model's width."""

    tile: int
    """Rows that it holds, each with a row of sums."""

    step: int
    """Rows that it reads at a time."""

    warps: int
    """Threads, by 32."""

    stages: int
    """Steps whose rows are read at the same time."""


STEPS = ((128, 3), (128, 2), (64, 2), (32, 2), (16, 2))
"""Steps and stages: the first is fastest on an H200 at width 128, the next need less memory."""

WIDEST = 512
"""Beyond, the sums of 64 rows do not stay in registers."""


def head_blocks(width: int, limit: int) -> Blocks | None:
    """The first blocks whose shared memory is at most `limit` bytes; None where none fit.

    >>> head_blocks(128, 232_448)
    Blocks(tile=64, step=128, warps=4, stages=3)
    >>> head_blocks(512, 232_448)
    Blocks(tile=64, step=64, warps=8, stages=2)
    """
    warps = 4 if width <= WIDEST // 2 else 8
    choices = (Blocks(64, step, warps, stages) for step, stages in STEPS)
    fitting = (blocks for blocks in choices if head_bytes(width, blocks) <= limit)
    return next(fitting, None) if width <= WIDEST and is_power_of_two(width) else None


def head_bytes(width: int, blocks: Blocks) -> int:
    """Shared memory that a program of the two passes needs at most.

    In the loop the rows that it holds and those of all stages, in bfloat16, with a float32 each;
    after the loop the sums, in float32.

    >>> head_bytes(512, Blocks(tile=64, step=128, warps=4, stages=3))
    460288
    """
    rows = blocks.stages * blocks.step
    return max(2 * width * (blocks.tile + rows) + 4 * rows, 4 * width * blocks.tile)


def head_grad(hidden: Tensor, head: Slot, targets: Tensor) -> Tensor:
    """Gradients of every model's mean cross-entropy at its head U.

    With p = softmax(U h) at each of N positions and e_y the indicator of its target,

        ∂/∂h = Uᵀ (p − e_y)/N,        ∂/∂U = Σ_positions (p − e_y) hᵀ/N.

    Args:
        hidden: h, `(models, positions, width)`.
        head: U, `(models, vocabulary, width)`, and where to write ∂/∂U.
        targets: y, `(models, positions)`.

    Returns ∂/∂h.

    >>> from gossamer.captured import Aside
    >>> hidden, weight, device = torch.ones(1, 1, 2), torch.zeros(1, 3, 2), torch.device("cpu")
    >>> head = Slot(weight, torch.empty(1, 3, 2), Aside(device))
    >>> head_grad(hidden, head, torch.tensor([[0]]))                  # p = (⅓, ⅓, ⅓)
    tensor([[[0., 0.]]])
    >>> head.grad
    tensor([[[-0.6667, -0.6667], [ 0.3333,  0.3333], [ 0.3333,  0.3333]]])
    """
    if has_kernel(hidden):
        blocks = head_blocks(hidden.shape[-1], shared_memory(hidden.device))
        if blocks is not None:
            return _fused_head_grad(hidden, head, targets, blocks)
    return _head_grad_in_pieces(hidden, head.value, head.grad, targets)


def _head_grad_in_pieces(
    hidden: Tensor, weight: Tensor, d_weight: Tensor, targets: Tensor
) -> Tensor:
    """With the logits of a few positions at a time."""
    models, vocabulary, _ = weight.shape
    rows = max(1, LOGITS_AT_ONCE[weight.device.type] // (models * vocabulary))
    if has_kernel(hidden):  # products of other numbers of columns take twice as long
        weight = functional.pad(weight, (0, 0, 0, -vocabulary % ALIGNED))
    d_weight.zero_()
    d_hidden = []
    for h, y in zip(hidden.split(rows, 1), targets.split(rows, 1), strict=True):
        error = softmax_error(h @ weight.mT, y, vocabulary, 1 / hidden.shape[1])  # (p − e_y)/N
        d_hidden.append(error @ weight)
        d_weight += (error.mT @ h)[:, :vocabulary]
    return torch.cat(d_hidden, 1)


def _fused_head_grad(hidden: Tensor, head: Slot, targets: Tensor, blocks: Blocks) -> Tensor:
    """The two passes, then −h at the target's row of ∂/∂U.

    There p is near 1 when the model is sure, and the second pass has rounded it to bfloat16; the
    factor of h takes that rounding back, (p − 1) − rounded(p).
    """
    weight, d_weight, aside = head
    models, positions, width = hidden.shape
    vocabulary, targets = weight.shape[1], targets.contiguous()
    d_hidden = torch.empty_like(hidden)
    log_sum, factor = torch.empty(2, *targets.shape, dtype=torch.float32, device=weight.device)
    sizes = (positions, vocabulary, 1 / positions, width, blocks.tile, blocks.step)
    launch = {"num_warps": blocks.warps, "num_stages": blocks.stages}
    _hidden_grad[-(-positions // blocks.tile), models](
        hidden, weight, targets, d_hidden, log_sum, factor, weight.stride(0), *sizes, **launch
    )
    strides = (weight.stride(0), d_weight.stride(0))
    _weight_grad[-(-vocabulary // blocks.tile), models](
        hidden, weight, log_sum, d_weight, *strides, *sizes, **launch
    )
    aside.do(add_rows, d_weight, targets, hidden, factor)
    return d_hidden


@jit
def _rows(base, row, count, WIDTH: tl.constexpr):
    """The rows `row` of a matrix of `count` rows, `[rows, WIDTH]`, zeros beyond its end."""
    where = row[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    return tl.load(base + where, mask=(row < count)[:, None], other=0.0)


@jit
def _to_base_2(s):
    """s log₂ e: the kernels write exp s as 2^(s log₂ e), which is one instruction."""
    return s * 1.4426950408889634


@jit
def _absorb(s, u, largest, total, mean):
    """Add STEP words to max s, Σ exp(s − max) and Σ exp(s − max) u of TILE positions.

    Scores s are `[TILE, STEP]`, rows u `[STEP, WIDTH]`, max and sum `[TILE]`, mean `[TILE, WIDTH]`.
    """
    larger = tl.maximum(largest, tl.max(s, 1))
    p = tl.exp2(_to_base_2(s) - _to_base_2(larger)[:, None])
    shrink = tl.exp2(_to_base_2(largest - larger))
    mean = tl.dot(p.to(u.dtype), u, mean * shrink[:, None])
    return larger, total * shrink + tl.sum(p, 1), mean


@jit
def _hidden_grad(
    hidden, weight, targets, d_hidden, log_sum, factor,
    weight_stride, positions, vocabulary, scale,
    WIDTH: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    # hidden, d_hidden: (models, positions, WIDTH); targets, log_sum, factor: (models, positions)
    # weight: (models, vocabulary, WIDTH), models `weight_stride` apart
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    weight += model * weight_stride
    h = _rows(hidden + model * positions * WIDTH, row, positions, WIDTH)  # [TILE, WIDTH]
    largest = tl.full([TILE], -float("inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    mean = tl.zeros([TILE, WIDTH], tl.float32)
    full = vocabulary // STEP * STEP
    for start in range(0, full, STEP):
        word = start + tl.arange(0, STEP)
        u = tl.load(weight + word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
        s = tl.dot(h, tl.trans(u))  # [TILE, STEP]
        largest, total, mean = _absorb(s, u, largest, total, mean)
    if full < vocabulary:
        word = full + tl.arange(0, STEP)
        u = _rows(weight, word, vocabulary, WIDTH)
        s = tl.dot(h, tl.trans(u))
        s = tl.where((word < vocabulary)[None, :], s, -float("inf"))
        largest, total, mean = _absorb(s, u, largest, total, mean)
    inside = row < positions
    at = model * positions + row
    target = tl.load(targets + at, mask=inside, other=0)
    u = _rows(weight, target, vocabulary, WIDTH).to(tl.float32)  # [TILE, WIDTH]
    logs = _to_base_2(largest) + tl.log2(total)
    p = tl.exp2(_to_base_2(tl.sum(h.to(tl.float32) * u, 1)) - logs)
    rounded = p.to(h.dtype).to(tl.float32)
    tl.store(log_sum + at, logs, mask=inside)
    tl.store(factor + at, ((p - rounded) - 1) * scale, mask=inside)
    d_h = (mean / total[:, None] - u) * scale
    where = at[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(d_hidden + where, d_h.to(h.dtype), mask=inside[:, None])


@jit
def _weight_grad(
    hidden, weight, log_sum, d_weight,
    weight_stride, grad_stride, positions, vocabulary, scale,
    WIDTH: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    # hidden: (models, positions, WIDTH); log_sum: (models, positions)
    # weight, d_weight: (models, vocabulary, WIDTH), models `weight_stride`, `grad_stride` apart
    model = tl.program_id(1).to(tl.int64)
    word = tl.program_id(0) * TILE + tl.arange(0, TILE)
    hidden += model * positions * WIDTH
    log_sum += model * positions
    u = _rows(weight + model * weight_stride, word, vocabulary, WIDTH)  # [TILE, WIDTH]
    total = tl.zeros([TILE, WIDTH], tl.float32)
    for start in range(0, positions, STEP):
        row = start + tl.arange(0, STEP)
        h = _rows(hidden, row, positions, WIDTH)  # [STEP, WIDTH]
        logs = tl.load(log_sum + row, mask=row < positions, other=float("inf"))
        p = tl.exp2(_to_base_2(tl.dot(u, tl.trans(h))) - logs[None, :])  # [TILE, STEP]
        total = tl.dot(p.to(h.dtype), h, total)
    where = word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    grad = d_weight + model * grad_stride + where
    tl.store(grad, total * scale, mask=(word < vocabulary)[:, None])
