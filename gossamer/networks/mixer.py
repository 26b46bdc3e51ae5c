"""z ↦ R z and z ↦ C z, the simulator's communication where nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.networks.narrow import is_narrow, mixed, mixed_estimate, mixed_move
from gossamer.twin import Twin


@dataclass(frozen=True, eq=False)
class Mixer:
    """Mixes opinions by z ↦ R z and totals by z ↦ C z, over the leading axis of `(n, …)`.

    On CUDA the product of a small matrix and a wide z is limited by memory bandwidth. Gossamer's
    own kernels read z only once and take half the time of torch's product. Some of them also
    compute, in the same pass, the z that is to be mixed.

    Args:
        pulls: R, `(n, n)`, dense or CSR, in the precision of messages.
        pushes: C, likewise; the same tensor if R = C.
        exact: C in float64, for totals.
        twin: memory for the copy of x that the problem reads (see `Problem.twin`). `pull_move`
            writes this copy in the same pass as its result. None if the problem reads no copy.
    """

    pulls: Tensor
    pushes: Tensor
    exact: Tensor
    twin: Twin | None = field(default=None, kw_only=True)
    memory: ClassVar[tuple[()]] = ()
    """Empty, since links that lose nothing have nothing to remember."""

    def pull(self, z: Tensor) -> Tensor:
        """R z, with the shape of z."""
        return self.product(self.pulls, z)

    def push(self, z: Tensor) -> Tensor:
        """C z, which has the same sum over the nodes as z, up to rounding in float64.

        A total has more digits than a message. Node r sends q_r = round(z_r) and keeps what was
        rounded off, so that node i gets Σ_r c_ir q_r + (z_i − q_i).
        """
        if z.dtype == self.pushes.dtype:
            return self.product(self.pushes, z)
        sent = z.to(self.pushes.dtype)
        if z.is_cuda:
            return self.split(sent).add_(z - sent)
        sent = sent.to(z.dtype)  # a CPU would widen it twice
        return self.split(sent).sub_(sent.sub_(z))

    def push_estimate(
        self, y: Tensor, v: Tensor, grad: Tensor, momentum: Tensor
    ) -> tuple[Tensor, ...] | None:
        """v' = β v + (1−β) g and y' = `push(y + v' − v)` in one pass.

        Args:
            y: `(nodes, runs, dim)`.
            v: like y.
            grad: g, like y.
            momentum: β, one number, or one per run.

        Returns:
            The tuple (v', y', q, ‖q‖), where q is y' rounded to the precision of v; None if there
            is no kernel for these tensors.
        """
        alike = y.shape == v.shape == grad.shape and y.ndim == 3
        messages = v.dtype == grad.dtype == momentum.dtype == self.pushes.dtype
        per_run = momentum.ndim == 0 or momentum.shape == (v.shape[1], 1)
        totals = y.dtype == self.exact.dtype and is_narrow(self.exact, y)
        if not alike or not messages or not per_run or not totals:
            return None
        return mixed_estimate(self.exact, y, v, grad, momentum)

    def pull_move(self, x: Tensor, scale: Tensor, direction: Tensor) -> Tensor | None:
        """`pull(x − scale · direction)` in one pass; None if there is no kernel for these tensors.

        Args:
            x: `(nodes, runs, dim)`.
            scale: one number, one per run, or one per node and run.
            direction: like x.
        """
        alike = x.dtype == scale.dtype == direction.dtype == self.pulls.dtype
        stacked = x.ndim == 3 and x.shape == direction.shape
        per_run = scale.ndim == 0 or scale.shape[-1] == 1
        if not alike or not stacked or not per_run or not is_narrow(self.pulls, x):
            return None
        return mixed_move(self.pulls, x, scale, direction, self.twin)

    def split(self, message: Tensor) -> Tensor:
        """C q for messages q, in float64."""
        return self.product(self.exact, message)

    def product(self, weights: Tensor, z: Tensor) -> Tensor:
        """W z, the result of a mix with the matrix W = `weights`, in the precision of W."""
        return product(weights, z)


def product(weights: Tensor, z: Tensor) -> Tensor:
    """W z over the leading axis, of the shape of z and the precision of W."""
    if is_narrow(weights, z):
        return mixed(weights, z)
    return torch.mm(weights, z.to(weights.dtype).reshape(len(z), -1)).view_as(z)
