"""z ↦ R z and z ↦ C z, the simulator's communication where nothing is lost."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator"
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.triton_language import installed, jit, tl

MOST_NODES = 32
"""Most nodes whose values at a few coordinates a program holds in registers."""

COLUMNS = 512
"""Coordinates that a program mixes."""


@dataclass(frozen=True, eq=False)
class Mixer:
    """z ↦ R z for opinions and z ↦ C z for totals, over the leading axis of `(n, …)`.

    On CUDA a product of a small matrix with a wide z is bound by memory; a kernel that reads z once
    takes half the time of the general product.

    Args:
        pulls: R, `(n, n)`, dense or CSR, in the precision of messages.
        pushes: C, likewise; the same tensor where both are W.
        exact: C in float64, for totals.
    """

    pulls: Tensor
    pushes: Tensor
    exact: Tensor
    memory: ClassVar[tuple[()]] = ()
    """Of its links: none."""

    def pull(self, z: Tensor) -> Tensor:
        """R z, of the shape of z."""
        return self.product(self.pulls, z)

    def push(self, z: Tensor) -> Tensor:
        """C z with its sum over the nodes kept, to the rounding of float64.

        A total has more digits than a message. Node r sends q_r = round(z_r), and what that lost
        stays with it: Σ_r c_ir q_r + (z_i − q_i).
        """
        if z.dtype == self.pushes.dtype:
            return self.product(self.pushes, z)
        sent = z.to(self.pushes.dtype)
        sent = sent if z.is_cuda else sent.to(z.dtype)  # a CPU would widen it twice
        return self.split(sent).add_(z - sent)

    def split(self, message: Tensor) -> Tensor:
        """C q of messages q, in float64."""
        return self.product(self.exact, message)

    def product(self, weights: Tensor, z: Tensor) -> Tensor:
        """What a mix makes of z: W z, in the precision of W."""
        return product(weights, z)


def product(weights: Tensor, z: Tensor) -> Tensor:
    """W z over the leading axis, of the shape of z and the precision of W."""
    if installed() and z.is_cuda and len(weights) <= MOST_NODES:
        return _mix_narrow(weights, z)
    return torch.mm(weights, z.to(weights.dtype).reshape(len(z), -1)).view_as(z)


def _mix_narrow(weights: Tensor, z: Tensor) -> Tensor:
    nodes, z = len(z), z.contiguous()
    columns, padded = z.numel() // nodes, 1 << (nodes - 1).bit_length()
    mixed = torch.empty_like(z, dtype=weights.dtype)
    _mix[(-(-columns // COLUMNS),)](weights, z, mixed, columns, nodes, padded, COLUMNS)
    return mixed


@jit
def _mix(
    weights, z, mixed, columns,
    NODES: tl.constexpr, PADDED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
    row, inside = tl.arange(0, PADDED), column < columns
    total = tl.zeros([PADDED, COLUMNS], mixed.dtype.element_ty)
    sender = z + column
    for r in tl.static_range(NODES):
        weight = tl.load(weights + row * NODES + r, mask=row < NODES, other=0.0)
        value = tl.load(sender, mask=inside, other=0.0).to(mixed.dtype.element_ty)
        total += weight[:, None] * value[None, :]
        sender += columns
    where = row[:, None].to(tl.int64) * columns + column[None, :]
    tl.store(mixed + where, total, mask=(row < NODES)[:, None] & inside[None, :])
