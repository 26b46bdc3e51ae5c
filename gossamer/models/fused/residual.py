"""What kernels do where a branch joins the residual stream, and its gradient there.

With b the branch, m the mask of dropout over 1 − its rate and w, s LayerNorm's weight and shift,

    total = h + m (b + bias),     unit = (total − mean)/σ,     normed = w unit + s,

mean and σ² = variance + 1e-5 over the width. With g = w ∂normed,

    ∂h = ∂total + (g − mean g − unit · mean(g unit))/σ,      ∂b = m ∂h,
    ∂bias = Σ ∂b,      ∂w = Σ ∂normed unit,      ∂s = Σ ∂normed        over all positions.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from gossamer.models.fused.mask import kept
from gossamer.triton_language import jit, tl


@jit
def moments(x, column, WIDTH: tl.constexpr):
    """unit and 1/σ of the rows of x: `[ROWS, PADDED]` and `[ROWS]`."""
    x = tl.where((column < WIDTH)[None, :], x - (tl.sum(x, 1) / WIDTH)[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(x * x, 1) / WIDTH + 1e-5)
    return x * inverse[:, None], inverse


@jit
def load_row(row, column, WIDTH: tl.constexpr):
    """A row of numbers in float32, `[1, PADDED]`, zeros beyond its end."""
    return tl.load(row + column, mask=column < WIDTH, other=0.0).to(tl.float32)[None, :]


@jit
def load_rows(rows, where, inside):
    """Rows in float32, `[ROWS, PADDED]`, zeros where they are not `inside`."""
    return tl.load(rows + where, mask=inside, other=0.0).to(tl.float32)


@jit
def store_with_norm(
    x, weight, shift, total, normed, where, inside, column, WIDTH: tl.constexpr
):  # fmt: skip
    """Store x, `[ROWS, PADDED]`, as the total, and its norm."""
    x = x.to(total.dtype.element_ty)
    tl.store(total + where, x, mask=inside)
    unit, _ = moments(x.to(tl.float32), column, WIDTH)
    out = unit * load_row(weight, column, WIDTH) + load_row(shift, column, WIDTH)
    tl.store(normed + where, out.to(x.dtype), mask=inside)


@jit
def total_grad(
    total, weight, d_total, d_normed, where, inside, column, WIDTH: tl.constexpr
):  # fmt: skip
    """∂h, and the terms of ∂w and ∂s, `[ROWS, PADDED]`; `d_total` is None where nothing used it."""
    unit, inverse = moments(load_rows(total, where, inside), column, WIDTH)
    d_n = load_rows(d_normed, where, inside)
    g = d_n * load_row(weight, column, WIDTH)
    along = tl.sum(g * unit, 1) / WIDTH
    d_h = (g - (tl.sum(g, 1) / WIDTH)[:, None] - unit * along[:, None]) * inverse[:, None]
    if d_total is not None:
        d_h += load_rows(d_total, where, inside)
    return d_h, d_n * unit, d_n


@jit
def add_sum(to, terms, column, WIDTH: tl.constexpr):
    """Add the sum of the rows of `terms` to a row of numbers."""
    tl.atomic_add(to + column, tl.sum(terms, 0), mask=column < WIDTH, sem="relaxed")


@jit
def join(
    branch, h, bias, weight, shift, total, normed, seed, dropout, where, inside, column,
    WIDTH: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Add a branch, `[ROWS, PADDED]` without its bias, to h; store the total and its norm."""
    branch += load_row(bias, column, WIDTH)
    if DROP:
        branch *= kept(seed, where, dropout)
    x = branch + load_rows(h, where, inside)
    store_with_norm(x, weight, shift, total, normed, where, inside, column, WIDTH)


@jit
def leave(
    d_h, to_h, to_branch, seed, dropout, where, inside, DROP: tl.constexpr
):  # fmt: skip
    """Store ∂h, and where they differ ∂b, which is returned."""
    tl.store(to_h + where, d_h.to(to_h.dtype.element_ty), mask=inside)
    if DROP:
        d_h *= kept(seed, where, dropout)
        tl.store(to_branch + where, d_h.to(to_h.dtype.element_ty), mask=inside)
    return d_h
