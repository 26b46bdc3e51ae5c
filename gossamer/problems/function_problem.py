"""Any differentiable function of a vector as a problem: n nodes with their own data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, SupportsIndex

import torch
from torch import Tensor
from torch.func import grad, vmap

from gossamer.data.moving import Device
from gossamer.digests import digest
from gossamer.errors import InvalidInput, first_line, require, whole
from gossamer.problems.batches import NodeOrders
from gossamer.problems.flat_program import FlatProgram
from gossamer.problems.node_data import NodeData
from gossamer.problems.penalty import (
    Penalty,
    VectorFunction,
    as_penalty,
    penalized,
    penalized_grad,
)
from gossamer.problems.problem import Problem, as_call
from gossamer.source import name_of, source_of

NodeLoss = Callable[..., Tensor]
"""(x, *data of one node) ↦ a scalar, differentiable in x, `(dim,)`."""


class FunctionProblem(Problem):
    """f_i(x) = loss(x, *data_i) + penalty(x) for any differentiable function of a vector.

    The loss is written for one node and one point. It must depend only on its arguments, and must
    not branch on their values: use `torch.where` in place of `if`. Gradients are computed by
    automatic differentiation (`torch.func`), for all nodes and runs together. The computation is
    traced at the first call; later calls replay an optimized version that gives the same result, up
    to rounding, with fewer operations.

    If a `batch_size` is given, the rows of a node's tensors are its samples, and the loss must be
    the mean over the rows that it gets. The gradient of step t is then that of the batch which
    `BatchOrder` chooses for node i, step t and the run's seed; `local_loss` and `local_grad` still
    use all samples.

    Args:
        loss: (x, *data) ↦ scalar, with x of shape `(dim,)`.
        node_data: the data of each node: one tensor or array, or a tuple of them, e.g.
            `data.split(num_nodes)`. Sizes may differ between nodes; nodes with data of the same
            size are evaluated together.
        dim: number of coordinates of x, which then starts at 0.
        start: x⁰; to be given in place of `dim`.
        batch_size: number of samples per node and step; by default all samples of the node.
        penalty: a function of x that is added to every f_i, e.g. `gs.NonconvexPenalty(0.01)`.
        optimum: a minimizer of f, if one is known.
        smoothness: L, if it is known.

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
    ) -> None:
        self._function, self._data = loss, NodeData.of(node_data)
        self.num_nodes, self.start = len(self._data.place), _start(dim, start)
        self.penalty = as_penalty(penalty, self.start)
        self.dim, self.batch_size, self.smoothness = len(self.start), batch_size, smoothness
        self._require_loss()
        copies = self._needs_copies()
        grads, batch_grads = (_Stacked(loss, True, own, copies) for own in (False, True))
        self._losses = _Stacked(loss, copies=copies)
        self._grads = FlatProgram(grads, fixed_data=True)
        self._batch_grads = FlatProgram(batch_grads)
        self._orders = None if batch_size is None else NodeOrders(self._data.sizes(), batch_size)
        self._load_optimum(optimum)

    def local_loss(self, x: Tensor) -> Tensor:
        """loss(x, *data_i) + penalty(x)."""
        if x.numel() == 0:
            return x.sum(-1)  # vmap knows no empty axes
        return penalized(self._data.map(self._losses, x), self.penalty, x)

    def local_grad(self, x: Tensor) -> Tensor:
        """∇f_i, over all samples of node i."""
        if x.numel() == 0:
            return x
        return penalized_grad(self._data.map(self._grads, x), self.penalty, x)

    @property
    def exact(self) -> bool:
        """Whether every gradient is over all samples of a node."""
        return self._orders is None and self._draws_by(FunctionProblem.sample_grad)

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The gradient on every node's batch of step `t`: `(nodes, runs, dim)` → the same shape."""
        if self._orders is None:
            return self.local_grad(x)
        batch = self._data.rows(self._orders.indices(t, seeds))
        return penalized_grad(self._batch_grads(x, *batch), self.penalty, x)

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same problem on another device, in another precision, or both."""
        moved = super().to(device, dtype)
        if moved is not self:
            moved._data = self._data.to(moved.start.device, moved.start.dtype)
            moved._grads = self._grads.emptied()
            if self._orders is not None:
                moved._orders = self._orders.on(moved.start.device)
        return moved

    def expecting(self, steps: int) -> Self:
        """The same problem, which checks again whether its traced functions are still the same."""
        self._grads.doubt()
        self._batch_grads.doubt()
        if self.penalty is not None:
            self.penalty.doubt()
        return self

    def describe(self) -> dict[str, Any]:
        """Name, sizes, source code of loss and penalty, and digests of the data and of x⁰."""
        return {
            "name": type(self).__name__,
            "num_nodes": self.num_nodes,
            "dim": self.dim,
            "loss": source_of(self._function),
            "penalty": None if self.penalty is None else self.penalty.describe(),
            "batch_size": self.batch_size,
            "data": self._data.digest(),
            "start": digest(self.start.cpu().double()),
        }

    def __repr__(self) -> str:
        sizes = {"num_nodes": self.num_nodes, "dim": self.dim}
        options = {"penalty": self.penalty, "batch_size": self.batch_size}
        given = {name: value for name, value in options.items() if value is not None}
        return as_call(type(self).__name__, loss=name_of(self._function), **sizes, **given)

    def _load_optimum(self, optimum: Tensor | None) -> None:
        if optimum is not None:
            shape = f"shape {tuple(optimum.shape)}"
            require(optimum.shape == (self.dim,), "optimum", shape, f"shape ({self.dim},)")
            self.optimum = optimum.detach().double()
            self.minimum = float(self.loss(self.optimum[None]))

    def _require_loss(self) -> None:
        """Refuse a loss that is no scalar at node 0, or fails there."""
        name = name_of(self._function)
        try:
            value = self._function(self.start, *self._data.first())
        except Exception as reason:
            raise InvalidInput(
                f"loss: got {name}, which fails on the data of node 0 ({first_line(reason)}); "
                f"need loss(x, *data) with x of shape ({self.dim},)"
            ) from reason
        scalar = isinstance(value, Tensor) and value.shape == () and value.is_floating_point()
        found = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        require(scalar, "loss", f"{found} from {name}", "a scalar tensor", "e.g. the mean")

    def _needs_copies(self) -> bool:
        """Whether the data must be there once for every point, as `F.mse_loss` needs it.

        A loss that cannot be differentiated for many nodes and points at once is refused.
        """
        if self._failure(copies=False) is None:
            return False
        reason = self._failure(copies=True)
        if reason is not None:
            raise InvalidInput(
                f"loss: got {name_of(self._function)}, which cannot be differentiated for many "
                f"nodes at once ({first_line(reason)}); write it in torch without branches on "
                "values, e.g. with torch.where, or subclass gs.Problem"
            ) from reason
        return True

    def _failure(self, copies: bool) -> RuntimeError | None:
        """Why the loss and its gradient cannot be evaluated at two points of every node."""
        x = self.start.expand(self.num_nodes, 2, self.dim)
        try:
            for slope in (False, True):
                self._data.map(_Stacked(self._function, slope, copies=copies), x)
        except RuntimeError as reason:
            return reason
        return None


@dataclass(frozen=True)
class _Stacked:
    """A loss for all nodes and points: `(nodes, points, dim)`, `(nodes, …)` → one of each.

    With `slope` its gradients; with `own_batches` every point has its own data, `(nodes, points,
    …)`. With `copies` every point is given data of its own anyway: `vmap` fails in some functions
    of torch where one argument has an axis of points and another has none.
    """

    loss: NodeLoss
    slope: bool = False
    own_batches: bool = False
    copies: bool = False

    def __call__(self, x: Tensor, *data: Tensor) -> Tensor:
        function = grad(self.loss) if self.slope else self.loss
        if self.copies and not self.own_batches:
            data = tuple(part[:, None].expand(-1, x.shape[1], *part.shape[1:]) for part in data)
        batch = 0 if self.own_batches or self.copies else None
        stacked: NodeLoss = vmap(vmap(function, (0, *[batch] * len(data))))
        return stacked(x, *data)


def _start(dim: SupportsIndex | None, start: Tensor | None) -> Tensor:
    """x⁰ in float64: as given, or 0."""
    require((dim is None) != (start is None), "dim", dim, "either dim or start")
    if start is None:
        assert dim is not None
        return torch.zeros(whole("dim", dim, 1), dtype=torch.float64)
    start = torch.as_tensor(start).detach().double().clone()
    one_axis = start.ndim == 1 and len(start) > 0
    require(one_axis, "start", f"shape {tuple(start.shape)}", "shape (dim,)")
    return start
