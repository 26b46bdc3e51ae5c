"""A node's parameters as views of one flat buffer."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from gossamer.algorithms import state_dtype
from gossamer.errors import require


class FlatParameters:
    """The parameters of several groups as one vector x, `(dim,)`.

    Every parameter is a part of one vector, `buffer`, so that writing x moves the model and a
    method's one norm covers all parameters of the node. To torch each has a storage of its own, of
    its own size, in that memory: `torch.save` of some parameters does not write all. A model in
    bfloat16 or float16 has a vector of its own, and `buffer` holds x in float32: `show` rounds it
    into the model.

    >>> weight, bias = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.zeros(2))
    >>> flat = FlatParameters([[weight], [bias]])
    >>> flat.buffer.mul_(3.0)
    tensor([3., 3., 3., 3., 0., 0.])
    >>> weight.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    >>> flat.sizes                                           # each group's share of x
    [4, 2]
    """

    def __init__(self, groups: Sequence[Sequence[Tensor]]) -> None:
        self.params = [p for group in groups for p in group]
        self.sizes = [sum(p.numel() for p in group) for group in groups]
        _require_alike(self.params)
        first = self.params[0]
        self._model = torch.empty(sum(self.sizes), dtype=first.dtype, device=first.device)
        self._link()
        kept = state_dtype(first.dtype)
        self.buffer = self._model if kept == first.dtype else self._model.to(kept)

    @property
    def is_apart(self) -> bool:
        """Whether x is more precise than the model, and thus in memory of its own."""
        return self.buffer is not self._model

    def views(self, buffer: Tensor) -> list[Tensor]:
        """Parts of a `(dim,)` tensor, shaped like the parameters; one number is part of each."""
        if buffer.shape != self._model.shape:
            return [buffer] * len(self.params)
        parts = buffer.split([p.numel() for p in self.params])
        return [part.view(p.shape) for part, p in zip(parts, self.params, strict=True)]

    def taken_over(self, buffer: Tensor, before: "FlatParameters") -> Tensor:
        """What `before` held as a `(dim,)` tensor, in this order; 0 for parameters it had not."""
        if buffer.shape != before.buffer.shape:
            return buffer  # no number of each parameter
        taken = buffer.new_zeros(self.buffer.shape)
        held = dict(zip(before.params, before.views(buffer), strict=True))
        for p, part in zip(self.params, self.views(taken), strict=True):
            if p in held:
                part.copy_(held[p])
        return taken

    def gather_grads(self) -> Tensor:
        """All gradients as one new `(dim,)` tensor; absent ones are 0."""
        grad = torch.empty_like(self.buffer)
        for p, part in zip(self.params, self.views(grad), strict=True):
            if p.grad is None:
                part.zero_()
            else:
                part.copy_(p.grad.to_dense())
        return grad

    def whole(self, z: Tensor) -> Tensor:
        """The node's tensor, of which this process holds `z`: all of it."""
        return z

    def part(self, z: Tensor) -> Tensor:
        """What this process holds of the node's tensor `z`: all of it."""
        return z

    def grads_in_place(self) -> list[Tensor] | None:
        """All gradients, each as a vector where it is; None if some is not a part of x's kind."""
        grads = [p.grad for p in self.params]
        usable = [g is not None and _is_part(g, self.buffer) for g in grads]
        return [g.view(-1) for g in grads if g is not None] if all(usable) else None

    def show(self) -> None:
        """Let the model have x, which was written."""
        if self.is_apart:
            self._model.copy_(self.buffer)

    @torch.no_grad()
    def relink(self) -> None:
        """Take over parameters that were given new values or new storage, e.g. by `module.to`."""
        self._take_storage()
        if self.is_apart:
            changed = self.buffer.to(self._model.dtype) != self._model
            self.buffer.copy_(torch.where(changed, self._model.to(self.buffer), self.buffer))

    def _take_storage(self) -> None:
        if any(p.data_ptr() != v.data_ptr() for p, v in zip(self.params, self._views, strict=True)):
            _require_alike(self.params)
            same = self.params[0].dtype == self._model.dtype
            same = same and self.params[0].device == self._model.device
            found = f"{self.params[0].dtype} on {self.params[0].device}"
            made = f"{self._model.dtype} on {self._model.device}, as when the optimizer was made"
            require(same, "params", found, made, "move the model first, then make the optimizer")
            self._link()

    @torch.no_grad()
    def _link(self) -> None:
        self._views = self.views(self._model)
        for p, view in zip(self.params, self._views, strict=True):
            view.copy_(p)
            p.data = from_dlpack(view)  # its own storage there, so that it is saved alone


def _is_part(grad: Tensor, x: Tensor) -> bool:
    plain = type(grad) is Tensor and grad.layout is torch.strided and grad.is_contiguous()
    return plain and grad.dtype == x.dtype


def _require_alike(params: Sequence[Tensor]) -> None:
    require(len(params) > 0, "params", "no tensor that requires a gradient", "at least one")
    places = [p.data_ptr() for p in params if p.numel() > 0]
    apart, way_out = len(set(places)) == len(places), "tie modules by one Parameter for both"
    require(apart, "params", "several with the same memory", "each with memory of its own", way_out)
    kinds = sorted({f"{p.dtype} on {p.device}" for p in params})
    require(len(kinds) == 1, "params", kinds, "one dtype on one device", "use model.to(…) first")
    require(params[0].is_floating_point(), "params", kinds[0], "a floating-point dtype")
