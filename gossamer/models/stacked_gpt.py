"""The GPT of many nodes at once: one batched product where a loop would make many small ones."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.captured import Aside, Captured
from gossamer.models.fused import (
    Layer,
    Slot,
    embed,
    embed_norm,
    feed_add_norm,
    head_grad,
    norm,
    product,
    project_add_norm,
    windowed_attention,
)
from gossamer.models.gpt import GPT
from gossamer.twin import Twin

Slots = dict[str, Slot]
"""The GPT's parameter names → parameters of all models."""


class StackedGPT:
    """Gradients of many copies of a `GPT`, whose parameters are the rows of `(models, dim)`.

    What a GPT computes, layer by layer, with an axis of models in front: linear layers are batched
    products, attention folds the models into its batch, the work between products is fused, and
    the head's gradients are computed without keeping logits. Parameters are cast to `dtype` once
    per evaluation; their gradients are summed in float32 or better.

    On CUDA an evaluation is captured as a graph that reads a `Twin` of x, and then replayed.

    Args:
        model: the GPT whose sizes, attention and dropout to use.
        dtype: precision of the evaluation; None keeps that of the parameters.
    """

    def __init__(self, model: GPT, dtype: torch.dtype | None = None) -> None:
        self.heads, self.causal, self.dropout = model.heads, model.causal, model.dropout
        self.norm_first = model.style == "gpt"
        self.layers, self.dtype = len(model.blocks), dtype
        self.shapes = {name: p.shape for name, p in model.named_parameters()}
        self._twin: Twin | None = None
        self._evaluate = Captured(self._evaluate_twin)

    def grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of each model's mean loss on its own batch, `(models, dim)`; see `Captured`.

        Args:
            x: `(models, dim)`.
            inputs: tokens, `(models, batch, time)`.
            targets: tokens, `(models, batch, time)`.
        """
        x = x.contiguous()
        if not x.is_cuda:
            return self.evaluate(x.to(self.dtype), inputs, targets)
        self.twin(x).follow(x)
        return self._evaluate(inputs, targets)

    def twin(self, x: Tensor) -> Twin:
        """Memory for the copy of `x`, `(models, dim)`, that is evaluated; see `Problem.twin`."""
        found, dtype = self._twin, self.dtype or x.dtype
        if found is None or not _alike(found.copy, x, dtype):
            self._twin = found = Twin(torch.empty_like(x, dtype=dtype))
            self._evaluate.forget()
        return found

    def _evaluate_twin(self, inputs: Tensor, targets: Tensor) -> Tensor:
        assert self._twin is not None
        return self.evaluate(self._twin.copy, inputs, targets)

    def __getstate__(self) -> dict[str, Any]:
        """Without the twin, which another process makes for itself."""
        return {**vars(self), "_twin": None}

    @torch.enable_grad()
    def evaluate(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The gradient, operation by operation: each puts those of its own parameters."""
        grad = torch.empty_like(x, dtype=torch.promote_types(x.dtype, torch.float32))
        zeros, aside = Aside(x.device, branch=0), Aside(x.device, branch=1)
        slots = self.slots(x.detach(), grad, aside)
        hidden = self.trunk(slots, inputs)  # (models, positions, width)
        head = self.shapes["head.weight"].numel()  # whose gradient needs no zeros
        zeros.do(lambda *rows: torch._foreach_zero_(rows), *(row[:-head] for row in grad))
        d_hidden = head_grad(hidden.detach(), slots["head.weight"], targets.flatten(1))
        zeros.wait()
        hidden.backward(d_hidden)
        aside.wait()
        return grad

    def slots(self, x: Tensor, grad: Tensor, aside: Aside) -> Slots:
        """The parameters that `x`, `(models, dim)`, holds, and where in `grad` theirs belong."""
        sizes = [shape.numel() for shape in self.shapes.values()]
        parts = zip(self.shapes.items(), x.split(sizes, 1), grad.split(sizes, 1), strict=True)
        return {
            name: Slot(value.view(-1, *shape), to.view(-1, *shape), aside)
            for (name, shape), value, to in parts
        }

    def trunk(self, slots: Slots, tokens: Tensor) -> Tensor:
        """Tokens `(models, windows, time)` → what the head reads, `(models, positions, width)`.

        A branch, its addition to the stream h and the LayerNorm that follows are one operation,
        which returns both the sum and its norm.
        """
        if self.norm_first:
            return self._norm_first_trunk(slots, tokens)
        return self._norm_last_trunk(slots, tokens)

    def _norm_first_trunk(self, slots: Slots, tokens: Tensor) -> Tensor:
        """Style "gpt": each branch reads the norm of h, and h goes on without it."""
        tables = slots["token.weight"], slots["position.weight"]
        h, normed = embed_norm(tokens, *tables, self._norm_before(0, slots), self.dropout)
        for layer in range(self.layers):
            attended = self._attend(slots, layer, normed, tokens.shape[-1])
            project, norm2, expand, contract = block(slots, layer, "project norm2 expand contract")
            h, normed = project_add_norm(h, attended, project, norm2, self.dropout)
            after = self._norm_before(layer + 1, slots)
            h, normed = feed_add_norm(h, normed, expand, contract, after, self.dropout)
        return normed

    def _norm_last_trunk(self, slots: Slots, tokens: Tensor) -> Tensor:
        """Style "pytorch": each branch reads h, which goes on as the norm of the sum."""
        h = embed(tokens, slots["token.weight"], slots["position.weight"])
        for layer in range(self.layers):
            attended = self._attend(slots, layer, h, tokens.shape[-1])
            project, norm1, expand = block(slots, layer, "project norm1 expand")
            _, h = project_add_norm(h, attended, project, norm1, self.dropout)
            hidden = functional.relu(product(h, expand.weight) + expand.bias.tracked()[:, None])
            contract, norm2 = block(slots, layer, "contract norm2")
            hidden = functional.dropout(hidden, self.dropout)
            _, h = project_add_norm(h, hidden, contract, norm2, self.dropout)
        return norm(h, part(slots, "norm"))

    def _attend(self, slots: Slots, layer: int, h: Tensor, time: int) -> Tensor:
        """The branch of attention, without its last product."""
        (qkv,) = block(slots, layer, "qkv")
        shape = (time, self.heads, self.causal, self.dropout)
        return windowed_attention(product(h, qkv.weight), qkv.bias, *shape)

    def _norm_before(self, layer: int, slots: Slots) -> Layer:
        """The LayerNorm that a block of style "gpt" begins with; the last one beyond the blocks."""
        return part(slots, f"blocks.{layer}.norm1" if layer < self.layers else "norm")


def _alike(z: Tensor, x: Tensor, dtype: torch.dtype) -> bool:
    return (z.shape, z.device, z.dtype) == (x.shape, x.device, dtype)


def block(slots: Slots, layer: int, names: str) -> list[Layer]:
    """The named parts of one block."""
    return [part(slots, f"blocks.{layer}.{name}") for name in names.split()]


def part(slots: Slots, name: str) -> Layer:
    """A linear layer or LayerNorm by its name."""
    return Layer(slots[f"{name}.weight"], slots[f"{name}.bias"])
