"""The GPT of many nodes at once: one batched product where a loop would make many small ones."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.captured import Captured
from gossamer.models.fused import (
    add_norm,
    add_rows,
    bias_gelu,
    head_grad,
    norm,
    windowed_attention,
)
from gossamer.models.gpt import GPT

Parameters = dict[str, Tensor]
"""The GPT's parameter names → tensors with the axis of models in front."""


class StackedGPT:
    """Gradients of many copies of a `GPT`, whose parameters are the rows of `(models, dim)`.

    What a GPT computes, layer by layer, with an axis of models in front: linear layers are batched
    products, attention folds the models into its batch, the work between products is fused, and
    the head's gradients are computed without keeping logits. Parameters are cast to `dtype` once
    per evaluation; their gradients are summed in float32 or better.

    On CUDA an evaluation is captured as a graph and then replayed.

    Args:
        model: the GPT whose sizes, attention and dropout to use.
        dtype: precision of the evaluation; None keeps that of the parameters.
    """

    def __init__(self, model: GPT, dtype: torch.dtype | None = None) -> None:
        self.heads, self.causal, self.dropout = model.heads, model.causal, model.dropout
        self.norm_first = model.style == "gpt"
        self.layers, self.width, self.dtype = len(model.blocks), model.token.embedding_dim, dtype
        self.shapes = {name: p.shape for name, p in model.named_parameters()}
        self._evaluate = Captured(self.evaluate, dtype=dtype)

    def grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of each model's mean loss on its own batch, `(models, dim)`; see `Captured`.

        Args:
            x: `(models, dim)`.
            inputs: tokens, `(models, batch, time)`.
            targets: tokens, `(models, batch, time)`.
        """
        return self._evaluate(x.contiguous(), inputs, targets)

    @torch.enable_grad()
    def evaluate(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The gradient, operation by operation."""
        grad = torch.empty_like(x, dtype=torch.promote_types(x.dtype, torch.float32))
        parameters, d_head = self.split(x.detach()), self.split(grad)["head.weight"]
        embedded = self._embed(x, inputs).requires_grad_()  # (models, positions, width)
        trunk = {name: parameters[name].requires_grad_() for name in list(parameters)[2:-1]}
        hidden = self.trunk(trunk, embedded, inputs.shape[-1])
        head = parameters["head.weight"]  # (models, vocabulary, width)
        d_hidden = head_grad(hidden.detach(), head, targets.flatten(1), d_head)
        d_embedded, *d_trunk = torch.autograd.grad(hidden, [embedded, *trunk.values()], d_hidden)
        self._embed_grad(grad, inputs, d_embedded)
        between = torch.cat([d.flatten(1) for d in d_trunk], 1)
        end = grad.shape[1] - d_head[0].numel()
        grad[:, end - between.shape[1] : end] = between
        return grad

    def split(self, x: Tensor) -> Parameters:
        """Views of the parameters that `x`, `(models, dim)`, holds."""
        parts = x.split([shape.numel() for shape in self.shapes.values()], 1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(len(x), *shape) for (name, shape), part in named}

    def trunk(self, parameters: Parameters, h: Tensor, time: int) -> Tensor:
        """The blocks and the last LayerNorm on embedded tokens, `(models, positions, width)`.

        A branch's bias, its addition to the stream h and the LayerNorm that follows are one
        operation, `add_norm`, which returns both the sum and its norm.
        """
        if self.norm_first:
            return self._norm_first_trunk(parameters, h, time)
        return self._norm_last_trunk(parameters, h, time)

    def _norm_first_trunk(self, parameters: Parameters, h: Tensor, time: int) -> Tensor:
        """Style "gpt": each branch reads the norm of h, and h goes on without it."""
        h = functional.dropout(h, self.dropout)
        normed = norm(h, *pair(parameters, self._norm_before(0)))
        for layer in range(self.layers):
            block = f"blocks.{layer}"
            out, bias = self._attend(parameters, block, normed, time)
            after = pair(parameters, f"{block}.norm2")
            h, normed = add_norm(h, out, bias, *after, self.dropout)
            out, bias = self._feed(parameters, block, normed)
            after = pair(parameters, self._norm_before(layer + 1))
            h, normed = add_norm(h, out, bias, *after, self.dropout)
        return normed

    def _norm_last_trunk(self, parameters: Parameters, h: Tensor, time: int) -> Tensor:
        """Style "pytorch": each branch reads h, which goes on as the norm of the sum."""
        for layer in range(self.layers):
            block = f"blocks.{layer}"
            out, bias = self._attend(parameters, block, h, time)
            _, h = add_norm(h, out, bias, *pair(parameters, f"{block}.norm1"), self.dropout)
            out, bias = self._feed(parameters, block, h)
            _, h = add_norm(h, out, bias, *pair(parameters, f"{block}.norm2"), self.dropout)
        return norm(h, *pair(parameters, "norm"))

    def _norm_before(self, layer: int) -> str:
        """The LayerNorm that a block of style "gpt" begins with; the last one beyond the blocks."""
        return f"blocks.{layer}.norm1" if layer < self.layers else "norm"

    def _attend(
        self, parameters: Parameters, block: str, h: Tensor, time: int
    ) -> tuple[Tensor, Tensor]:
        """The branch of attention, and the bias that is still to be added to it."""
        qkv, qkv_bias = pair(parameters, f"{block}.qkv")
        project, bias = pair(parameters, f"{block}.project")
        shape = (time, self.heads, self.causal, self.dropout)
        return product(windowed_attention(product(h, qkv), qkv_bias, *shape), project), bias

    def _feed(self, parameters: Parameters, block: str, h: Tensor) -> tuple[Tensor, Tensor]:
        """The branch of the hidden layer, and the bias that is still to be added to it."""
        expand, hidden_bias = pair(parameters, f"{block}.expand")
        contract, bias = pair(parameters, f"{block}.contract")
        return product(self._activate(product(h, expand), hidden_bias), contract), bias

    def _activate(self, hidden: Tensor, bias: Tensor) -> Tensor:
        if self.norm_first:
            return bias_gelu(hidden, bias)
        return functional.dropout(functional.relu(hidden + bias[:, None]), self.dropout)

    def _embed(self, x: Tensor, tokens: Tensor) -> Tensor:
        """E[token] + P[position], `(models, positions, width)`."""
        table, rows = self._token_rows(x, tokens)
        position = self.split(x)["position.weight"][:, None, : tokens.shape[-1]]
        return (functional.embedding(rows, table) + position).flatten(1, 2)

    def _embed_grad(self, grad: Tensor, tokens: Tensor, d_embedded: Tensor) -> None:
        """Write ∂/∂E and ∂/∂P into `grad`: each row's sum over the positions that used it."""
        d_token, d_position, *_ = self.split(grad).values()
        d_token.zero_()
        table, rows = self._token_rows(grad, tokens)
        add_rows(table, rows.flatten(), d_embedded.flatten(0, 1))
        time = tokens.shape[-1]
        sums = d_embedded.unflatten(1, (-1, time)).sum(1, dtype=grad.dtype)
        d_position[:, :time], d_position[:, time:] = sums, 0

    def _token_rows(self, x: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """`x` as a table of rows of the model's width, and which of them is E[token].

        Every parameter of a GPT fills whole rows, and E comes first among them.
        """
        model = torch.arange(len(x), device=x.device)[:, None, None]
        return x.view(-1, self.width), tokens + model * (x.shape[1] // self.width)


def pair(parameters: Parameters, name: str) -> tuple[Tensor, Tensor]:
    """Weight and bias of a layer."""
    return parameters[f"{name}.weight"], parameters[f"{name}.bias"]


class _Product(torch.autograd.Function):
    """torch's own backward would return the transposed gradient of W, to be copied later."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(h, weight)
        return torch.bmm(h, weight.mT)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        h, weight = ctx.saved_tensors
        return torch.bmm(grads[0], weight), torch.bmm(grads[0].mT, h)


def product(h: Tensor, weight: Tensor) -> Tensor:
    """h Wᵀ for every model: `(models, positions, in)`, `(models, out, in)` → `(…, out)`."""
    return _Product.apply(h, weight)
