"""Products of a small matrix with a wide tensor on a GPU, and what comes just before them.

Such a product is bound by memory. A program holds the values of all nodes at a few coordinates in
registers, so that what is mixed is read once, and a sum that is mixed is never written.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,assignment"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.triton_language import installed, jit, padded, tl
from gossamer.twin import Twin

MOST_NODES = 32
"""Most nodes whose values at a few coordinates a program holds in registers."""

NUMBERS, WARPS = 4096, 4
"""Numbers that a program holds, those of all nodes at the coordinates that it mixes, and its
threads, by 32; fastest on an H200."""

TRACKED, TRACKED_WARPS = 2048, 8
"""The same where a tracker is mixed."""


def is_narrow(weights: Tensor, z: Tensor) -> bool:
    """Whether the kernels multiply these."""
    return installed() and z.is_cuda and len(weights) <= MOST_NODES


def mixed(weights: Tensor, z: Tensor) -> Tensor:
    """W z over the leading axis, in the precision of W."""
    z = z.contiguous()
    out, nodes = torch.empty_like(z, dtype=weights.dtype), len(z)
    columns = z.numel() // nodes
    at_once, blocks = _blocks(nodes, columns, NUMBERS)
    _mix[blocks,](weights, z, out, columns, nodes, at_once, num_warps=WARPS)
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
    at_once, blocks = _blocks(nodes, dim, TRACKED)
    squares = torch.empty(nodes, runs, blocks, dtype=y.dtype, device=y.device)
    _mix_estimate[blocks * runs,](
        weights, y, v, grad, momentum, new, out, rounded, squares,
        runs, blocks, dim, runs * dim, nodes, padded(nodes), at_once, num_warps=TRACKED_WARPS,
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
    out, (nodes, runs, dim) = torch.empty_like(x), x.shape
    at_once, blocks = _blocks(nodes, dim, NUMBERS)
    short = None if twin is None else twin.copy
    _mix_move[blocks * runs,](
        weights, x, scale, direction, out, short,
        runs, blocks, dim, runs * dim, nodes, at_once, num_warps=WARPS,
    )  # fmt: skip
    if twin is not None:
        twin.of = out
    return out


def _blocks(nodes: int, dim: int, numbers: int) -> tuple[int, int]:
    """Coordinates that a program mixes if it holds so many numbers, and programs for all."""
    at_once = min(numbers // padded(nodes), padded(dim))
    return at_once, -(-dim // at_once)


@jit
def _combine(weights, sent, i, NODES: tl.constexpr):
    """Σ_r w_ir z_r for what the nodes sent, a tuple of the z_r."""
    total = tl.load(weights + i * NODES) * sent[0]
    for r in tl.static_range(1, NODES):
        total += tl.load(weights + i * NODES + r) * sent[r]
    return total


@jit
def _mix(
    weights, z, out, columns, NODES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    inside, at, sent = column < columns, column, ()
    for _ in tl.static_range(NODES):
        sent += (tl.load(z + at, mask=inside, other=0.0).to(out.dtype.element_ty),)
        at += columns
    at = column
    for i in range(NODES):
        tl.store(out + at, _combine(weights, sent, i, NODES), mask=inside)
        at += columns


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
    weights, x, scale, direction, out, short, runs, blocks, dim, columns,
    NODES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    program = (tl.num_programs(0) - 1 - tl.program_id(0)).to(tl.int64)  # the last are still cached
    block, run = program % blocks, program // blocks
    column = block * COLUMNS + tl.arange(0, COLUMNS)
    inside, first, sent = column < dim, run * dim + column, ()
    at = first
    for r in tl.static_range(NODES):
        d = tl.load(direction + at, mask=inside, other=0.0)
        value = tl.load(x + at, mask=inside, other=0.0)
        sent += (value - tl.load(scale + r * runs + run) * d,)
        at += columns
    at = first
    for i in range(NODES):
        total = _combine(weights, sent, i, NODES)
        tl.store(out + at, total, mask=inside)
        if short is not None:
            tl.store(short + at, total.to(short.dtype.element_ty), mask=inside)
        at += columns
