"""Operations of the stacked GPT, each in plain torch and as Triton kernels for bfloat16 on CUDA.

The plain form is what the kernels must agree with, and what runs elsewhere. Activations are
`(models, positions, width)`, a model's own parameters `(models, …)`.
"""

from gossamer.models.fused._add_norm import add_norm, norm
from gossamer.models.fused._product import product
from gossamer.models.fused.attention import windowed_attention
from gossamer.models.fused.embedding import embed, embed_norm
from gossamer.models.fused.feed import feed_add_norm
from gossamer.models.fused.head import head_grad
from gossamer.models.fused.project import project_add_norm
from gossamer.models.fused.slot import Layer, Slot

__all__ = [
    "Layer",
    "Slot",
    "add_norm",
    "embed",
    "embed_norm",
    "feed_add_norm",
    "head_grad",
    "norm",
    "product",
    "project_add_norm",
    "windowed_attention",
]
