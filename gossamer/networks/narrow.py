"""Products of a small matrix with a wide tensor on a GPU, and what comes just before them.

Such a product is bound by memory. A program holds the values of all nodes at a few coordinates in
registers, so that what is mixed is read once, and a sum that is mixed is never written.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

import torch
from torch import Tensor

from gossamer.triton_language import installed, jit, padded, tl

MOST_NODES = 32
"""Most nodes whose values at a few coordinates a program holds in registers."""

NUMBERS = 4096
"""Numbers that a program holds, those of all nodes at the coordinates that it mixes."""


def is_narrow(weights: Tensor, z: Tensor) -> bool:
    """Whether the kernels multiply these."""
    return installed() and z.is_cuda and len(weights) <= MOST_NODES


def mixed(weights: Tensor, z: Tensor) -> Tensor:
    """W z over the leading axis, in the precision of W."""
    z = z.contiguous()
    out = torch.empty_like(z, dtype=weights.dtype)
    _mix[_grid(z)](weights, z, out, *_sizes(z))
    return out


def mixed_change(weights: Tensor, y: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """W q + (z − q) with z = y + new − old, q its rounding to the precision of new; as y."""
    y, new, old = y.contiguous(), new.contiguous(), old.contiguous()
    out = torch.empty_like(y)
    _mix_change[_grid(y)](weights, y, new, old, out, *_sizes(y))
    return out


def mixed_move(weights: Tensor, x: Tensor, scale: Tensor, direction: Tensor) -> Tensor:
    """W (x − s·d) with a step size s for every node and run; x is `(nodes, runs, dim)`."""
    x, direction = x.contiguous(), direction.contiguous()
    scale = scale.expand(*x.shape[:2], 1).contiguous()
    out, runs, dim = torch.empty_like(x), x.shape[1], x.shape[2]
    _mix_move[_grid(x)](weights, x, scale, direction, out, runs, dim, *_sizes(x))
    return out


def _grid(z: Tensor) -> tuple[int]:
    columns, _, _, at_once = _sizes(z)
    return (-(-columns // at_once),)


def _sizes(z: Tensor) -> tuple[int, ...]:
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
def _mix_change(
    weights, y, new, old, out, columns,
    NODES: tl.constexpr, PADDED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row, inside = tl.arange(0, PADDED), column < columns
    total = tl.zeros([PADDED, COLUMNS], out.dtype.element_ty)
    at = column
    for r in tl.static_range(NODES):
        weight = tl.load(weights + row * NODES + r, mask=row < NODES, other=0.0)
        arriving = tl.load(new + at, mask=inside, other=0.0).to(out.dtype.element_ty)
        leaving = tl.load(old + at, mask=inside, other=0.0).to(out.dtype.element_ty)
        z = tl.load(y + at, mask=inside, other=0.0) + arriving - leaving
        q = z.to(new.dtype.element_ty).to(out.dtype.element_ty)
        total += weight[:, None] * q[None, :]
        total += tl.where((row == r)[:, None], (z - q)[None, :], 0.0)
        at += columns
    _store(out, total, row, column, columns, NODES)


@jit
def _mix_move(
    weights, x, scale, direction, out, runs, dim, columns,
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
