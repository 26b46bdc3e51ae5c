"""`head_grad` for CUDA in bfloat16: logits live in registers only, as scores do in flash attention.

With scores s = h Uᵀ and p = softmax(s), ∂/∂h = (Σ_v p_v U_v − U_y)/N is attention with queries h
and keys = values = U, whose pass over the vocabulary also yields log Σ exp s. A second pass, over
the positions, recomputes p and sums ∂/∂U = (Σ p hᵀ − Σ_{y=v} hᵀ)/N.
"""

import torch
import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]
from torch import Tensor

LOG2E = 1.4426950408889634


def head_grad_triton(hidden: Tensor, weight: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """See `head_grad`."""
    models, positions, width = hidden.shape
    vocabulary = weight.shape[1]
    d_hidden = torch.empty_like(hidden)
    d_weight = torch.empty(weight.shape, dtype=torch.float32, device=weight.device)
    log_sum = torch.empty(targets.shape, dtype=torch.float32, device=weight.device)
    sizes = (positions, vocabulary, weight.stride(0), 1 / positions)
    rows = (triton.cdiv(positions, 128), models)
    _hidden_grad[rows](
        hidden,
        weight,
        targets,
        d_hidden,
        log_sum,
        *sizes,
        width,
        128,
        64,
        num_warps=8,
        num_stages=3,
    )
    columns = (triton.cdiv(vocabulary, 128), models)
    _weight_grad[columns](
        hidden, weight, log_sum, d_weight, *sizes, width, 128, 64, num_warps=8, num_stages=3
    )
    row = targets + vocabulary * torch.arange(models, device=targets.device)[:, None]
    d_weight.view(-1, width).index_add_(
        0, row.flatten(), hidden.reshape(-1, width).float(), alpha=-1 / positions
    )
    return d_hidden, d_weight


@triton.jit
def _hidden_grad(
    hidden,
    weight,
    targets,
    d_hidden,
    log_sum,
    positions,
    vocabulary,
    model_stride,
    scale,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    WORDS: tl.constexpr,
):
    model = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = row < positions
    where = (model * positions + row)[:, None] * WIDTH + column[None, :]
    h = tl.load(hidden + where, mask=inside[:, None], other=0.0)
    U = weight + model * model_stride
    largest = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mean = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, vocabulary, WORDS):
        word = start + tl.arange(0, WORDS)
        u = tl.load(
            U + word[:, None] * WIDTH + column[None, :],
            mask=(word < vocabulary)[:, None],
            other=0.0,
        )
        s = tl.dot(h, tl.trans(u)) * 1.4426950408889634
        s = tl.where((word < vocabulary)[None, :], s, -float("inf"))
        larger = tl.maximum(largest, tl.max(s, 1))
        p = tl.exp2(s - larger[:, None])
        shrink = tl.exp2(largest - larger)
        total = total * shrink + tl.sum(p, 1)
        mean = tl.dot(p.to(u.dtype), u, mean * shrink[:, None])
        largest = larger
    target = tl.load(targets + model * positions + row, mask=inside, other=0)
    u = tl.load(U + target[:, None] * WIDTH + column[None, :]).to(tl.float32)
    tl.store(log_sum + model * positions + row, largest + tl.log2(total), mask=inside)
    tl.store(
        d_hidden + where, ((mean / total[:, None] - u) * scale).to(h.dtype), mask=inside[:, None]
    )


@triton.jit
def _weight_grad(
    hidden,
    weight,
    log_sum,
    d_weight,
    positions,
    vocabulary,
    model_stride,
    scale,
    WIDTH: tl.constexpr,
    WORDS: tl.constexpr,
    ROWS: tl.constexpr,
):
    model = tl.program_id(1).to(tl.int64)
    word = tl.program_id(0) * WORDS + tl.arange(0, WORDS)
    column = tl.arange(0, WIDTH)
    known = word < vocabulary
    u = tl.load(
        weight + model * model_stride + word[:, None] * WIDTH + column[None, :],
        mask=known[:, None],
        other=0.0,
    )
    total = tl.zeros([WORDS, WIDTH], tl.float32)
    for start in range(0, positions, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = row < positions
        h = tl.load(
            hidden + (model * positions + row)[:, None] * WIDTH + column[None, :],
            mask=inside[:, None],
            other=0.0,
        )
        z = tl.load(log_sum + model * positions + row, mask=inside, other=float("inf"))
        p = tl.exp2(tl.dot(u, tl.trans(h)) * 1.4426950408889634 - z[None, :])
        total = tl.dot(p.to(h.dtype), h, total)
    where = (model * vocabulary + word)[:, None] * WIDTH + column[None, :]
    tl.store(d_weight + where, total * scale, mask=known[:, None])
