"""One head of attention in one window, whose q, k and v a kernel holds as `[TIME, SIZE]`.

With d the size of a head, m the mask of dropout over 1 − its rate, and positions seen or not,

    s = q kᵀ/√d,      p = softmax(s),      out = (m p) v,
    ∂v = (m p)ᵀ ∂out,      ∂p = m (∂out vᵀ),      ∂s = p (∂p − Σ p ∂p)/√d,
    ∂q = ∂s k,      ∂k = ∂sᵀ q.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from gossamer.models.fused.mask import kept
from gossamer.triton_language import jit, tl


@jit
def attend(
    q, k, v, seed, dropout, window, head, time,
    SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr, DROP: tl.constexpr,
    HEADS: tl.constexpr,
):  # fmt: skip
    """out, `[TIME, SIZE]`."""
    p = _softmax(q, k, time, SIZE, TIME, CAUSAL)
    if DROP:
        p *= _mask(seed, dropout, window, head, TIME, HEADS)
    return tl.dot(p.to(v.dtype), v).to(v.dtype)


@jit
def attend_grad(
    q, k, v, d_out, seed, dropout, window, head, time,
    SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr, DROP: tl.constexpr,
    HEADS: tl.constexpr,
):  # fmt: skip
    """∂q, ∂k and ∂v, `[TIME, SIZE]` each."""
    p = _softmax(q, k, time, SIZE, TIME, CAUSAL)
    d_p = tl.dot(d_out, tl.trans(v))
    if DROP:
        mask = _mask(seed, dropout, window, head, TIME, HEADS)
        d_v = tl.dot(tl.trans((p * mask).to(v.dtype)), d_out)
        d_p *= mask
    else:
        d_v = tl.dot(tl.trans(p.to(v.dtype)), d_out)
    d_s = (p * (d_p - tl.sum(p * d_p, 1)[:, None]) * (SIZE**-0.5)).to(q.dtype)
    return tl.dot(d_s, k), tl.dot(tl.trans(d_s), q), d_v


@jit
def _softmax(q, k, time, SIZE: tl.constexpr, TIME: tl.constexpr, CAUSAL: tl.constexpr):
    """p over the positions that each position sees, `[TIME, TIME]`."""
    t = tl.arange(0, TIME)
    s = tl.dot(q, tl.trans(k)) * (SIZE**-0.5)
    seen = (t[None, :] < time) & ((t[None, :] <= t[:, None]) | (not CAUSAL))
    s = tl.where(seen, s, -float("inf"))
    p = tl.exp(s - tl.max(s, 1)[:, None])
    return p / tl.sum(p, 1)[:, None]


@jit
def _mask(seed, dropout, window, head, TIME: tl.constexpr, HEADS: tl.constexpr):
    """m, drawn at a number of its own for every score of every window and head."""
    t = tl.arange(0, TIME)
    first = (window * HEADS + head) * (TIME * TIME)
    return kept(seed, first + t[:, None] * TIME + t[None, :], dropout)
