"""Products of a small matrix with a wide tensor on a GPU, and what comes just before them.

Such a product is bound by memory. A program holds the values of all nodes at a few coordinates in
registers, so that what is mixed is read once, and a sum that is mixed is never written.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.triton_language import installed, jit, padded, tl
from gossamer.twin import Twin

MOST_NODES = 32
"""Most nodes whose values at a few coordinates a program holds in registers."""

NUMBERS = 4096
"""Numbers that a program holds, those of all nodes at the coordinates that it mixes."""

THREADS = 128
"""Threads of a program, and the coordinates that it mixes if it also writes them to a twin: with
several coordinates per thread such a pass takes half as long again on an H200."""

TRACKED, WARPS = 2048, 8
"""The same where a tracker is mixed, and into how many warps they are split; fastest on an H200."""


def is_narrow(weights: Tensor, z: Tensor) -> bool:
    """Whether the kernels multiply these."""
    return installed() and z.is_cuda and len(weights) <= MOST_NODES


def mixed(weights: Tensor, z: Tensor) -> Tensor:
    """W z over the leading axis, in the precision of W."""
    z = z.contiguous()
    out = torch.empty_like(z, dtype=weights.dtype)
    columns, nodes, places, at_once = _sizes(z)
    _mix[-(-columns // at_once),](weights, z, out, columns, nodes, places, at_once)
    return out


def mixed_estimate(
    weights: Tensor, y: Tensor, v: Tensor, grad: Tensor, momentum: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """v' = β v + (1−β) g, then y' = W q + (z − q) with z = y + v' − v and q = z rounded like v.

    All are `(nodes, runs, dim)`, β is a number or one per run. Returns v', y', y' rounded like v,
    and the norm of that, `(nodes, runs, 1)`.
    """
    y, v, grad = y.contiguous(), v.contiguous(), grad.contiguous()
    nodes, runs, dim = v.shape
    new, out, rounded = torch.empty_like(v), torch.empty_like(y), torch.empty_like(v)
    momentum = momentum.expand(runs, 1).contiguous()
    places = padded(nodes)
    at_once = min(TRACKED // places, padded(dim))
    blocks = -(-dim // at_once)
    squares = torch.empty(nodes, runs, blocks, dtype=y.dtype, device=y.device)
    _mix_estimate[blocks * runs,](
        weights, y, v, grad, momentum, new, out, rounded, squares,
        runs, blocks, dim, runs * dim, nodes, places, at_once, num_warps=WARPS,
    )  # fmt: skip
    return new, out, rounded, squares.sum(-1, keepdim=True).sqrt().to(v.dtype)


def mixed_move(
    weights: Tensor, x: Tensor, scale: Tensor, direction: Tensor, twin: Twin | None = None
) -> Tensor:
    """W (x − s·d) with a step size s for every node and run; x is `(nodes, runs, dim)`.

    The result's copy is written to `twin`, if there is one.
    """
    x, direction = x.contiguous(), direction.contiguous()
    scale = scale.expand(*x.shape[:2], 1).contiguous()
    out, runs, dim = torch.empty_like(x), x.shape[1], x.shape[2]
    short = None if twin is None else twin.copy
    columns, nodes, places, at_once = _sizes(x)
    at_once = at_once if twin is None else THREADS
    _mix_move[-(-columns // at_once),](
        weights, x, scale, direction, out, short, runs, dim, columns, nodes, places, at_once
    )
    if twin is not None:
        twin.of = out
    return out


def _sizes(z: Tensor) -> tuple[int, int, int, int]:
    """Columns, nodes, their next power of two, and columns of a program."""
    nodes, places = len(z), padded(len(z))
    return z.numel() // nodes, nodes, places, NUMBERS // places


@jit
def _store(out, total, row, column, columns, NODES: tl.constexpr):
    """Write `total`, `[PADDED, COLUMNS]`."""
    where = row[:, None].to(tl.int64) * columns + column[None, :]
    tl.store(out + where, total, mask=(row < NODES)[:, None] & (column < columns)[None, :])


@jit
def _mix(
    weights, z, out, columns,
    NODES: tl.constexpr, PADDED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row, inside = tl.arange(0, PADDED), column < columns
    total = tl.zeros([PADDED, COLUMNS], out.dtype.element_ty)
    at = column
    for r in tl.static_range(NODES):
        weight = tl.load(weights + row * NODES + r, mask=row < NODES, other=0.0)
        value = tl.load(z + at, mask=inside, other=0.0).to(out.dtype.element_ty)
        total += weight[:, None] * value[None, :]
        at += columns
    _store(out, total, row, column, columns, NODES)


@jit
def _mix_estimate(
    weights, y, v, grad, momentum, new, out, rounded, squares,
    runs, blocks, dim, columns,
    NODES: tl.constexpr, PADDED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    # squares: (nodes, runs, blocks), each program's share of the squared norms
    block, run = tl.program_id(0) % blocks, (tl.program_id(0) // blocks).to(tl.int64)
    column, row = block * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, PADDED)
    inside, first, beta = column < dim, run * dim + column, tl.load(momentum + run)
    total = tl.zeros([PADDED, COLUMNS], out.dtype.element_ty)
    fresh = tl.zeros([PADDED, COLUMNS], new.dtype.element_ty)
    at = first
    for r in tl.static_range(NODES):  # what is stored within it would have to wait for its loads
        weight = tl.load(weights + row * NODES + r, mask=row < NODES, other=0.0)
        own = (row == r)[:, None]
        leaving = tl.load(v + at, mask=inside, other=0.0)
        arriving = beta * leaving + (1 - beta) * tl.load(grad + at, mask=inside, other=0.0)
        z = tl.load(y + at, mask=inside, other=0.0)
        z += arriving.to(z.dtype) - leaving.to(z.dtype)
        q = z.to(leaving.dtype).to(z.dtype)
        total += weight[:, None] * q[None, :] + tl.where(own, (z - q)[None, :], 0.0)
        fresh = tl.where(own, arriving[None, :], fresh)
        at += columns
    where = row[:, None].to(tl.int64) * columns + first[None, :]
    cells = (row < NODES)[:, None] & inside[None, :]
    short = total.to(rounded.dtype.element_ty)
    tl.store(new + where, fresh, mask=cells)
    tl.store(out + where, total, mask=cells)
    tl.store(rounded + where, short, mask=cells)
    wide = tl.where(cells, short.to(total.dtype), 0.0)
    share = (row * runs + run) * blocks + block
    tl.store(squares + share, tl.sum(wide * wide, 1), mask=row < NODES)


@jit
def _mix_move(
    weights, x, scale, direction, out, short, runs, dim, columns,
    NODES: tl.constexpr, PADDED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row, inside = tl.arange(0, PADDED), column < columns
    total = tl.zeros([PADDED, COLUMNS], out.dtype.element_ty)
    at, run = column, column // dim
    for r in tl.static_range(NODES):
        weight = tl.load(weights + row * NODES + r, mask=row < NODES, other=0.0)
        s = tl.load(scale + r * runs + run, mask=inside, other=0.0)
        d = tl.load(direction + at, mask=inside, other=0.0)
        value = tl.load(x + at, mask=inside, other=0.0) - s * d
        total += weight[:, None] * value[None, :]
        at += columns
    _store(out, total, row, column, columns, NODES)
    if short is not None:
        _store(short, total.to(short.dtype.element_ty), row, column, columns, NODES)
