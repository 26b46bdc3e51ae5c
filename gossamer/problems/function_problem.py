"""Any differentiable function of a vector as a problem: n nodes with their own data."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, SupportsIndex

import torch
from torch import Tensor
from torch.func import grad, vmap

from gossamer.data.moving import Device
from gossamer.errors import InvalidInput, require, whole
from gossamer.problems.batches import NodeOrders
from gossamer.problems.node_data import NodeData
from gossamer.problems.penalty import (
    Penalty,
    VectorFunction,
    as_penalty,
    penalized,
    penalized_grad,
    source_of,
)
from gossamer.problems.problem import Problem, as_call
from gossamer.problems.vector_module import first_line

NodeLoss = Callable[..., Tensor]
"""(x, *data of one node) ↦ a scalar, differentiable in x, `(dim,)`."""


class FunctionProblem(Problem):
    """f_i(x) = loss(x, *data_i) + penalty(x) for any differentiable function of a vector.

    The function is written for one node and one point; gradients come by automatic
    differentiation, for all nodes and runs at once (`torch.func`). It must be a pure function of
    its arguments without branches on their values: `torch.where` in place of `if`.

    With a `batch_size` the tensors of a node are its samples, one per row, and the loss must be
    the mean over the rows that it is given. The gradient of step t is then that of the batch which
    `BatchOrder` gives node i in step t of the run's seed; losses are those of all samples.

    Args:
        loss: (x, *data) ↦ scalar, x of shape `(dim,)`.
        node_data: what each node holds: one tensor or array, or a tuple of them, e.g.
            `data.split(num_nodes)`. Sizes may differ between nodes; nodes of one size are evaluated
            together.
        dim: how many coordinates x has; it then starts at 0.
        start: x⁰, in place of `dim`.
        batch_size: samples per node and step; by default gradients are exact.
        penalty: a function of x that every node adds, e.g. `gs.NonconvexPenalty(0.01)`.
        optimum: a minimiser of f, where it is known.
        smoothness: L, where it is known.
        compile: let `torch.compile` turn the gradient into one program. This takes half a minute
            once and needs a C++ compiler; a large stack is then several times faster.

    >>> centers = torch.tensor([[-3.0], [0.0], [1.0], [2.0]])                       # four nodes
    >>> problem = FunctionProblem(lambda x, c: (x - c).cosh().log().sum(), centers, dim=1)
    >>> problem
    FunctionProblem(loss='<lambda>', num_nodes=4, dim=1)
    >>> problem.grad(torch.zeros(1, 1).double())                     # mean of −tanh c
    tensor([[-0.1826]], dtype=torch.float64)
    """

    def __init__(
        self,
        loss: NodeLoss,
        node_data: Iterable[Any],
        *,
        dim: SupportsIndex | None = None,
        start: Tensor | None = None,
        batch_size: int | None = None,
        penalty: Penalty | VectorFunction | None = None,
        optimum: Tensor | None = None,
        smoothness: float | None = None,
        compile: bool = False,
    ) -> None:
        self._loss, self._data, self.penalty = loss, NodeData.of(node_data), as_penalty(penalty)
        self.num_nodes, self.start = len(self._data.place), _start(dim, start)
        self.dim, self.batch_size, self.smoothness = len(self.start), batch_size, smoothness
        self._grad_of_points = torch.compile(_over_points(grad(loss))) if compile else _over_points(grad(loss))
        self._grad_of_batches = _over_batches(grad(loss))
        self._require_loss()
        self._orders = None if batch_size is None else NodeOrders(self._data.sizes(), batch_size)
        self._require_smooth()
        if optimum is not None:
            shape = f"shape {tuple(optimum.shape)}"
            require(optimum.shape == (self.dim,), "optimum", shape, f"shape ({self.dim},)")
            self.optimum = optimum.detach().double()
            self.minimum = float(self.loss(self.optimum[None]))
