"""The GPT of many nodes at once: one batched product where a loop would make many small ones."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.models.cuda_graph import CapturedFunction
from gossamer.models.gpt import GPT, attention
from gossamer.models.head_grad import head_grad

Weights = dict[str, Tensor]
"""The GPT's parameter names → tensors with the axis of models in front."""


class StackedGPT:
    """Gradients of many copies of a `GPT`, whose parameters are the rows of `(models, dim)`.

    What a GPT computes, layer by layer, with an axis of models in front: linear layers are batched
    products, attention folds the models into its batch, and the head's gradients come from
    `head_grad`, which keeps no logits. Parameters are cast to `dtype` once per evaluation.

    On CUDA an evaluation is captured once per shape as a graph and then replayed.

    Args:
        model: the GPT whose sizes, attention and dropout to use.
        dtype: precision of the evaluation; None keeps that of the parameters.
        compile: fuse the elementwise work with `torch.compile` (CUDA only; takes a minute once).
    """

    def __init__(
        self, model: GPT, dtype: torch.dtype | None = None, *, compile: bool = False
    ) -> None:
        self.heads, self.causal, self.dropout = model.heads, model.causal, model.dropout
        self.layers, self.dtype, self.compile = len(model.blocks), dtype, compile
        self.shapes = {name: p.shape for name, p in model.named_parameters()}
        self._captured: dict[Any, CapturedFunction] = {}

    def grad(self, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of each model's mean loss on its own batch.

        Args:
            x: `(models, dim)`.
            inputs: tokens, `(models, batch, time)`.
            targets: tokens, `(models, batch, time)`.
        """
        low = self.dtype or x.dtype
        if x.is_cuda:
            parts = self._capture(x, inputs, low)(x, inputs, targets)
        else:
            parts = self.grad_parts(x.to(low), inputs, targets)
        return torch.cat([part.flatten(1) for part in parts], 1)

    def _capture(self, x: Tensor, inputs: Tensor, dtype: torch.dtype) -> CapturedFunction:
        key = (x.shape, inputs.shape, dtype, x.device)
        if key not in self._captured:
            shape = inputs.shape
            examples = (
                torch.zeros_like(x, dtype=dtype),
                torch.zeros(shape, dtype=torch.int64, device=x.device),
                torch.zeros(shape, dtype=torch.int64, device=x.device),
            )
            self._captured[key] = CapturedFunction(self.grad_parts, examples)
        return self._captured[key]

    @torch.enable_grad()
    def grad_parts(self, x: Tensor, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """The gradients in the order of the parameters, in float32 or better."""
        weights = self._split(x)
        trunk = {n: weights[n].requires_grad_() for n in list(weights)[2:-1]}
        embedded = _embed(weights, inputs).requires_grad_()  # (models, batch, time, width)
        hidden = self._trunk(trunk, embedded)
        d_hidden, d_head = head_grad(
            hidden.detach().flatten(1, 2), weights["head.weight"], targets.flatten(1)
        )
        grads = torch.autograd.grad(hidden, [embedded, *trunk.values()], d_hidden.view_as(hidden))
        d_token, d_position = _embed_grad(weights, inputs, grads[0])
        return [d_token, d_position, *(g.to(d_head.dtype) for g in grads[1:]), d_head]

    def _split(self, x: Tensor) -> Weights:
        parts = x.detach().split([shape.numel() for shape in self.shapes.values()], 1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(len(x), *shape) for (name, shape), part in named}

    @cached_property
    def _trunk(self) -> Callable[[Weights, Tensor], Tensor]:
        return torch.compile(self.trunk, dynamic=False) if self.compile else self.trunk

    def trunk(self, weights: Weights, h: Tensor) -> Tensor:
        """The blocks and the last LayerNorm, on the embedded tokens."""
        h = functional.dropout(h, self.dropout)
        for layer in range(self.layers):
            h = self._block(weights, f"blocks.{layer}.", h)
        return _layer_norm(weights, "norm", h)

    def _block(self, weights: Weights, block: str, h: Tensor) -> Tensor:
        qkv = _linear(weights, block + "qkv", _layer_norm(weights, block + "norm1", h))
        attended = attention(qkv.flatten(0, 1), self.heads, self.causal, self.dropout).view_as(h)
        h = h + functional.dropout(_linear(weights, block + "project", attended), self.dropout)
        hidden = functional.gelu(
            _linear(weights, block + "expand", _layer_norm(weights, block + "norm2", h))
        )
        return h + functional.dropout(_linear(weights, block + "contract", hidden), self.dropout)


def _embed(weights: Weights, tokens: Tensor) -> Tensor:
    """E[token] + P[position], `(models, batch, time, width)`."""
    embedding, position = weights["token.weight"], weights["position.weight"]
    model = torch.arange(len(tokens), device=tokens.device)[:, None, None]
    return embedding[model, tokens] + position[:, None, : tokens.shape[-1]]


def _embed_grad(weights: Weights, tokens: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Each position's gradient added to the rows of E and P that it used."""
    shape = weights["token.weight"].shape
    models, vocabulary, width = shape
    accumulator = torch.float64 if grad.dtype == torch.float64 else torch.float32
    grad = grad.to(accumulator)
    row = tokens + vocabulary * torch.arange(models, device=tokens.device)[:, None, None]
    d_token = torch.zeros(models * vocabulary, width, dtype=accumulator, device=grad.device)
    d_token.index_add_(0, row.flatten(), grad.view(-1, width))
    d_position = torch.zeros_like(weights["position.weight"], dtype=accumulator)
    d_position[:, : tokens.shape[-1]] = grad.sum(1)
    return d_token.view(shape), d_position


def _linear(weights: Weights, name: str, h: Tensor) -> Tensor:
    """h Wᵀ + b for every model: one batched product."""
    weight, bias = weights[name + ".weight"], weights[name + ".bias"]
    return torch.baddbmm(bias[:, None], h.flatten(1, 2), weight.mT).unflatten(1, h.shape[1:3])


def _layer_norm(weights: Weights, name: str, h: Tensor) -> Tensor:
    weight, bias = weights[name + ".weight"], weights[name + ".bias"]
    return torch.addcmul(
        bias[:, None, None], functional.layer_norm(h, h.shape[-1:]), weight[:, None, None]
    )
