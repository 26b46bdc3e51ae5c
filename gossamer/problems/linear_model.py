"""Losses of linear scores on samples: what logistic regression and least squares share."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gossamer.data.moving import Device
from gossamer.errors import refuse, require
from gossamer.problems.alignment import aligned
from gossamer.problems.batches import NodeOrders
from gossamer.problems.curvature import steepest
from gossamer.problems.node_data import NodeData, Parts, as_parts, named_data
from gossamer.problems.penalty import (
    Penalty,
    VectorFunction,
    as_penalty,
    penalized,
    penalized_grad,
)
from gossamer.problems.problem import Problem, as_call, require_nodes


class LinearModel(Problem):
    """f_i(w) = (1/m_i) Σ_k ℓ(s_ik) + penalty(w) with scores s_ik = c_ik + a_ik · w.

    Node i has m_i samples. A subclass says how the rows a and the offsets c are computed from
    features and labels (`scored`), and what ℓ and its derivative ℓ' are. Gradients use
    all samples of a node or, if `batch_size` is given, mini-batches in the order of `BatchOrder`.

    Args:
        node_data: for every node a pair `(features, labels)` of shapes `(samples, dim)` and
            `(samples,)`, e.g. `data.split(num_nodes)`; sizes may differ between nodes.
        penalty: a function of w that is added to every f_i, e.g. `gs.L2Penalty(0.01)`.
        batch_size: number of samples per node and step; by default all samples of the node.
        validation: held-out `(features, labels)`, for `validation_loss`.
    """

    curvature: ClassVar[float]
    """The largest |ℓ''|."""

    def __init__(
        self,
        node_data: Iterable[Any],
        *,
        penalty: Penalty | VectorFunction | None = None,
        batch_size: int | None = None,
        validation: Any = None,
    ) -> None:
        nodes = [as_samples(data, name) for name, data in named_data(node_data)]
        self.num_nodes = require_nodes(len(nodes))
        held_out = [] if validation is None else [as_samples(validation, "validation")]
        self.dim = _common_dim([*nodes, *held_out])
        self._digest = NodeData.of(nodes).digest()
        self._sizes = [len(labels) for _, labels in nodes]
        scored = [self.scored(*samples) for samples in [*nodes, *held_out]]
        rows, offsets = zip(*scored[: len(nodes)], strict=True)
        self._rows = aligned(pad_sequence(list(rows), batch_first=True))  # (n, m, d), with zeros
        self._offset = pad_sequence(list(offsets), batch_first=True)[:, None]  # (n, 1, m)
        share = [torch.full((m,), 1 / m, dtype=torch.float64) for m in self._sizes]
        self._share = pad_sequence(share, batch_first=True)[:, None]  # 1/m_i, 0 on the padding
        self.has_validation, self._held_out_rows, self._held_out_offset = False, None, None
        if held_out:
            self.has_validation = True
            self._held_out_rows, self._held_out_offset = scored[-1]
        self.start = torch.zeros(self.dim, dtype=torch.float64)
        self.penalty, self.batch_size = as_penalty(penalty, self.start), batch_size
        self._orders = None if batch_size is None else NodeOrders(self._sizes, batch_size)
        self.smoothness = self._smoothness()
        self._load_optimum()

    def _load_optimum(self) -> None:
        """Where a subclass knows `optimum` and `minimum`."""

    @abstractmethod
    def scored(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Rows a, `(samples, dim)`, and offsets c, `(samples,)`, of the scores s = c + a · w."""

    @abstractmethod
    def score_loss(self, score: Tensor) -> Tensor:
        """ℓ(s) for every score s."""

    @abstractmethod
    def score_slope(self, score: Tensor) -> Tensor:
        """ℓ'(s) for every score s."""

    def local_loss(self, x: Tensor) -> Tensor:
        """(1/m_i) Σ_k ℓ(s_ik) + penalty(w)."""
        return penalized((self._share * self.score_loss(self._scores(x))).sum(-1), self.penalty, x)

    def local_grad(self, x: Tensor) -> Tensor:
        """(1/m_i) Σ_k ℓ'(s_ik) a_ik + ∇penalty(w)."""
        slope = self.score_slope(self._scores(x)) * self._share
        return penalized_grad(self._own(torch.bmm(slope, self._rows)), self.penalty, x)

    def _own(self, z: Tensor) -> Tensor:
        """Without the coordinates that `aligned` has added."""
        return z if z.shape[-1] == self.dim else z[..., : self.dim].contiguous()

    @property
    def exact(self) -> bool:
        """Whether every gradient is over all samples of a node."""
        return self._orders is None and self._draws_by(LinearModel.sample_grad)

    def sample_grad(self, x: Tensor, t: int, seeds: Sequence[int]) -> Tensor:
        """The gradient on every node's batch of step `t`: `(nodes, runs, dim)` → the same shape."""
        if self._orders is None:
            return self.local_grad(x)
        index = self._orders.indices(t, seeds)  # (n, runs, batch)
        nodes = torch.arange(self.num_nodes, device=x.device)[:, None, None]
        rows, offset = self._rows[nodes, index], self._offset[nodes, 0, index]
        slope = self.score_slope(offset + (rows @ aligned(x)[..., None])[..., 0])
        batch = (slope[..., None, :] @ rows)[..., 0, :] / index.shape[-1]
        return penalized_grad(self._own(batch), self.penalty, x)

    def validation_loss(self, points: Tensor) -> Tensor:
        """The mean of ℓ on the held-out data, without penalty: `(points, dim)` → `(points,)`."""
        return self.score_loss(self._held_out_scores(points)).mean(-1)

    def _scores(self, x: Tensor) -> Tensor:
        """s of every node, point and sample: `(nodes, points, samples)`."""
        return torch.baddbmm(self._offset, aligned(x), self._rows.mT)

    def _held_out_scores(self, points: Tensor) -> Tensor:
        if self._held_out_rows is None or self._held_out_offset is None:
            way_out = f"{type(self).__name__}(…, validation=(features, labels))"
            refuse("validation", None, "data given to the problem", way_out)
        return self._held_out_offset + points @ self._held_out_rows.mT

    def _smoothness(self) -> float | None:
        """sup|ℓ''| max_i λ_max(A_iᵀA_i/m_i), and the penalty's."""
        own = 0.0 if self.penalty is None else self.penalty.smoothness
        of_data = steepest(self._rows[..., : self.dim], torch.tensor(self._sizes))
        return None if own is None else self.curvature * of_data + own

    def to(
        self, device: Device | torch.dtype | None = None, dtype: torch.dtype | None = None
    ) -> Self:
        """The same problem on another device, in another precision, or both."""
        moved = super().to(device, dtype)
        if moved is not self and self._orders is not None:
            moved._orders = self._orders.on(moved.start.device)
        return moved

    def expecting(self, steps: int) -> Self:
        """The same problem, which checks again whether its penalty is still the same function."""
        if self.penalty is not None:
            self.penalty.doubt()
        return self

    def describe(self) -> dict[str, Any]:
        """Name, sizes, penalty and a digest of the data."""
        return {
            "name": type(self).__name__,
            "num_nodes": self.num_nodes,
            "dim": self.dim,
            "samples": self._sizes,
            "penalty": None if self.penalty is None else self.penalty.describe(),
            "batch_size": self.batch_size,
            "data": self._digest,
        }

    def __repr__(self) -> str:
        shown: dict[str, object] = {"num_nodes": self.num_nodes, "dim": self.dim}
        shown["samples"] = sum(self._sizes)
        options = {"penalty": self.penalty, "batch_size": self.batch_size}
        shown |= {name: value for name, value in options.items() if value is not None}
        return as_call(type(self).__name__, **shown)


def as_samples(data: Any, name: str) -> tuple[Tensor, Tensor]:
    """Features `(samples, dim)` and labels `(samples,)`, both in float64."""
    pair = isinstance(data, tuple | list) and len(data) == 2
    require(pair, name, type(data).__name__, "(features, labels)")
    features, labels = (part.double() for part in as_parts(data, name))
    fits = features.ndim == 2 and labels.shape == features.shape[:1] and len(labels) > 0
    shapes = f"shapes {tuple(features.shape)} and {tuple(labels.shape)}"
    require(fits, name, shapes, "shapes (samples, dim) and (samples,) with at least 1 sample")
    return features, labels


def _common_dim(samples: Sequence[Parts]) -> int:
    dims = {features.shape[1] for features, _ in samples}
    require(len(dims) == 1, "node_data", f"rows of {sorted(dims)} features", "as many everywhere")
    return dims.pop()
