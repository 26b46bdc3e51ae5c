"""Embeddings with a padding row under `vmap`, which forgets that the row takes no gradient."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class PaddingRows(TorchFunctionMode):
    """Within, `padding_idx` of `functional.embedding` names a row of every stacked model.

    `vmap` lays the tables of all models one below the other and hands `padding_idx` on, which then
    names a row of the first model alone. `met` tells whether there was any such embedding.
    """

    def __init__(self) -> None:
        super().__init__()
        self.met = False

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Every call of torch passes here."""
        if func is functional.embedding:
            return self._embedding(*args, **(kwargs or {}))
        if func is torch.embedding:
            return self._plain_embedding(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _embedding(
        self,
        input: Tensor,
        weight: Tensor,
        padding_idx: int | None = None,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        if padding_idx is not None:
            self.met, weight = True, without_grad(weight, padding_idx % len(weight))
        return functional.embedding(input, weight, None, *rest, **named)

    def _plain_embedding(
        self, weight: Tensor, indices: Tensor, padding_idx: int = -1, *rest: Any, **named: Any
    ) -> Tensor:
        """`torch.embedding`, whose −1 means that there is no padding row."""
        if padding_idx >= 0:
            self.met, weight = True, without_grad(weight, padding_idx)
        return torch.embedding(weight, indices, -1, *rest, **named)


def without_grad(weight: Tensor, row: int) -> Tensor:
    """`weight`, of which one row takes no gradient."""
    rows = torch.arange(len(weight), device=weight.device)[:, None]
    return torch.where(rows == row, weight.detach(), weight)
