"""The head and its loss in one go: gradients of the cross-entropy without keeping the logits.

The kernels hold logits in registers only, as flash attention holds scores. With s = U h and
p = softmax(s), ∂/∂h = (Σ_v p_v U_v − U_y)/N is attention with the query h and keys = values = U,
and its pass over the vocabulary also yields log Σ exp s. A second pass, over the positions,
recomputes p for Σ p_v h/N, the first part of ∂/∂U_v.

The first pass sums exp(s_v − s_y), relative to the target's score, which is known before the pass:
no maximum is looked for on the way. Only where another score is so much larger that float32 ends,
by about 85 or more, it is taken again, relative to the largest score.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.fused.launch import has_kernel, is_power_of_two, shared_by, shared_memory
from gossamer.models.fused.rows import add_rows
from gossamer.models.fused.slot import Slot
from gossamer.models.fused.softmax_error import softmax_error
from gossamer.triton_language import jit, tl

LOGITS_AT_ONCE = {"cpu": 2**22, "cuda": 2**28}
"""Elements of the largest piece of logits that the plain form builds: a cache, or a GPU's fill."""


ALIGNED = 8
"""Columns of which a product on a GPU likes to have a multiple."""


class Blocks(NamedTuple):
    """How a program of one of the passes goes through its matrices of the model's width."""

    tile: int
    """Rows that it holds, each with a row of sums."""

    step: int
    """Rows that it reads at a time."""

    warps: int
    """Threads, by 32."""

    stages: int
    """Steps whose rows are read at the same time."""

    def bytes(self, width: int, own: int = 0) -> int:
        """Shared memory that a program needs at most.

        In the loop the rows that it holds and those of all stages, in bfloat16, with `own` more
        bytes each, and where a row is split among warps the parts of its sums; after the loop the
        sums, in float32.

        >>> Blocks(tile=64, step=128, warps=4, stages=3).bytes(128)
        114688
        """
        rows, parts = self.stages * self.step, 16 * self.tile if self.warps > 4 else 0
        return max(2 * width * (self.tile + rows) + own * rows + parts, 4 * width * self.tile)


STEPS = ((128, 3), (64, 3), (64, 2), (32, 2), (16, 2))
"""Steps and stages of the pass over the vocabulary, from the fastest on an H200 to the smallest."""

LOG_SUM = 4
"""Bytes that the pass over the positions reads beside each row."""

WIDEST = 512
"""Beyond, the sums of 64 rows do not stay in registers."""


def hidden_blocks(width: int, limit: int) -> Blocks | None:
    """Blocks of the pass over the vocabulary, whose shared memory is at most `limit` bytes.

    While one program waits for its products, another one computes powers: the first blocks of which
    two programs find room beside each other were the fastest on an H200. None where none fit.

    >>> hidden_blocks(128, 232_448)
    Blocks(tile=64, step=128, warps=4, stages=3)
    >>> hidden_blocks(256, 232_448)
    Blocks(tile=64, step=64, warps=4, stages=2)
    """
    return _blocks(width, limit, STEPS)


def weight_blocks(width: int, limit: int) -> Blocks | None:
    """The same for the pass over the positions, of which three programs fit at width 128.

    >>> weight_blocks(128, 232_448)
    Blocks(tile=64, step=64, warps=4, stages=3)
    """
    return _blocks(width, limit, STEPS[1:], LOG_SUM)


def _blocks(
    width: int, limit: int, steps: Sequence[tuple[int, int]], own: int = 0
) -> Blocks | None:
    if width > WIDEST or not is_power_of_two(width):
        return None
    warps = 4 if width <= WIDEST // 2 else 8
    choices = [Blocks(64, step, warps, stages) for step, stages in steps]
    for programs in (2, 1) if warps == 4 else (1,):
        most = shared_by(programs, limit)
        fitting = (blocks for blocks in choices if blocks.bytes(width, own) <= most)
        if (found := next(fitting, None)) is not None:
            return found
    return None


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
        width, limit = hidden.shape[-1], shared_memory(hidden.device)
        first, second = hidden_blocks(width, limit), weight_blocks(width, limit)
        if first is not None and second is not None:
            return _fused_head_grad(hidden, head, targets, first, second)
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


def _fused_head_grad(
    hidden: Tensor, head: Slot, targets: Tensor, first: Blocks, second: Blocks
) -> Tensor:
    """The first pass, and aside the second: all that follows needs is ∂/∂h."""
    models, positions, width = hidden.shape
    weight, d_weight, aside = head
    vocabulary, targets = weight.shape[1], targets.contiguous()
    d_hidden = torch.empty_like(hidden)
    log_sum, factor = torch.empty(2, *targets.shape, dtype=torch.float32, device=weight.device)
    _hidden_grad[-(-positions // first.tile), models](
        hidden, weight, targets, d_hidden, log_sum, factor, weight.stride(0),
        positions, vocabulary, 1 / positions, width, first.tile, first.step,
        num_warps=first.warps, num_stages=first.stages,
    )  # fmt: skip
    aside.do(partial(_put_weight_grad, second), hidden, weight, log_sum, d_weight, targets, factor)
    return d_hidden


def _put_weight_grad(
    blocks: Blocks,
    hidden: Tensor,
    weight: Tensor,
    log_sum: Tensor,
    d_weight: Tensor,
    targets: Tensor,
    factor: Tensor,
) -> None:
    """The second pass, then −h at the target's row of ∂/∂U.

    There p is near 1 when the model is sure, and the second pass has rounded it to bfloat16; the
    factor of h takes that rounding back, (p − 1) − rounded(p).
    """
    (models, positions, width), vocabulary = hidden.shape, weight.shape[1]
    _weight_grad[-(-vocabulary // blocks.tile), models](
        hidden, weight, log_sum, d_weight, weight.stride(0), d_weight.stride(0),
        positions, vocabulary, 1 / positions, width, blocks.tile, blocks.step,
        num_warps=blocks.warps, num_stages=blocks.stages,
    )  # fmt: skip
    add_rows(d_weight, targets, hidden, factor)


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
def _power(s, base):
    """2^(s log₂ e − base), whose exponent is rounded once: the same bits for the same s."""
    return tl.exp2(tl.fma(s, 1.4426950408889634, -base))


@jit
def _own_scores(h, u):
    """h_k u_k for every row k, to the bit as the product of all rows has it."""
    k = tl.arange(0, h.shape[0])
    return tl.sum(tl.where(k[:, None] == k[None, :], tl.dot(h, tl.trans(u)), 0.0), 1)


@jit
def _rounded(p, like):
    """p as products round it."""
    return p.to(like.dtype).to(tl.float32)


@jit
def _absorb(p, u, total, mean):
    """Add STEP words to Σ p and Σ p u of TILE positions, `[TILE]` and `[TILE, WIDTH]`."""
    return total + tl.sum(p, 1), tl.dot(p.to(u.dtype), u, mean)


@jit
def _sums(h, weight, base, vocabulary, WIDTH: tl.constexpr, STEP: tl.constexpr):
    """Σ_v p_v and Σ_v p_v U_v with p_v = 2^(s_v log₂ e − base), over all words v."""
    total = tl.zeros([h.shape[0]], tl.float32)
    mean = tl.zeros([h.shape[0], WIDTH], tl.float32)
    full = vocabulary // STEP * STEP
    for start in range(0, full, STEP):
        word = start + tl.arange(0, STEP)
        u = tl.load(weight + word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
        p = _power(tl.dot(h, tl.trans(u)), base[:, None])  # [TILE, STEP]
        total, mean = _absorb(p, u, total, mean)
    if full < vocabulary:
        word = full + tl.arange(0, STEP)
        u = _rows(weight, word, vocabulary, WIDTH)
        p = _power(tl.dot(h, tl.trans(u)), base[:, None])
        p = tl.where((word < vocabulary)[None, :], p, 0.0)
        total, mean = _absorb(p, u, total, mean)
    return total, mean


@jit
def _largest(h, weight, vocabulary, WIDTH: tl.constexpr, STEP: tl.constexpr):
    """max_v s_v log₂ e over all words v."""
    largest = tl.full([h.shape[0]], -float("inf"), tl.float32)
    for start in range(0, vocabulary, STEP):
        word = start + tl.arange(0, STEP)
        s = tl.dot(h, tl.trans(_rows(weight, word, vocabulary, WIDTH)))
        s = tl.where((word < vocabulary)[None, :], s, -float("inf"))
        largest = tl.maximum(largest, tl.max(s, 1))
    return _to_base_2(largest)


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
    inside, at = row < positions, model * positions + row
    h = _rows(hidden + model * positions * WIDTH, row, positions, WIDTH)  # [TILE, WIDTH]
    target = tl.load(targets + at, mask=inside, other=0)
    score = _own_scores(h, _rows(weight, target, vocabulary, WIDTH))
    base = _to_base_2(score) + 60  # powers from 2⁻¹²⁶ on: room for scores up to 85 larger
    total, mean = _sums(h, weight, base, vocabulary, WIDTH, STEP)
    if tl.max(total, 0) > 1e20:
        base = _largest(h, weight, vocabulary, WIDTH, STEP) + 60
        total, mean = _sums(h, weight, base, vocabulary, WIDTH, STEP)
    logs = base - 60 + tl.log2(total * 1.152921504606847e18)  # 2⁶⁰
    p = tl.exp2(_to_base_2(score) - logs)
    tl.store(log_sum + at, logs, mask=inside)
    tl.store(factor + at, (p - _rounded(p, h) - 1) * scale, mask=inside)
    p = _power(score, base)
    total = total - p + _rounded(p, h)  # as the mean has it: near 1, p would not cancel U_y
    u = _rows(weight, target, vocabulary, WIDTH).to(tl.float32)  # [TILE, WIDTH]
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
    full = positions // STEP * STEP
    for start in range(0, full, STEP):
        row = start + tl.arange(0, STEP)
        h = tl.load(hidden + row[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])  # [STEP, WIDTH]
        logs = tl.load(log_sum + row)
        p = tl.exp2(_to_base_2(tl.dot(u, tl.trans(h))) - logs[None, :])  # [TILE, STEP]
        total = tl.dot(p.to(h.dtype), h, total)
    if full < positions:
        row = full + tl.arange(0, STEP)
        h = _rows(hidden, row, positions, WIDTH)
        logs = tl.load(log_sum + row, mask=row < positions, other=float("inf"))
        p = tl.exp2(_to_base_2(tl.dot(u, tl.trans(h))) - logs[None, :])
        total = tl.dot(p.to(h.dtype), h, total)
    where = word[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    grad = d_weight + model * grad_stride + where
    tl.store(grad, total * scale, mask=(word < vocabulary)[:, None])
