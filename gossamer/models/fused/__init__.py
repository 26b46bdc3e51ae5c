"""Operations of the stacked GPT, each in plain torch and as Triton kernels for bfloat16 on CUDA.

The plain form is what the kernels must agree with, and what runs elsewhere. Activations are
`(models, positions, width)`, a model's own parameters `(models, …)`.
"""

from gossamer.models.fused._add_norm import add_norm, norm
from gossamer.models.fused._bias_gelu import bias_gelu
from gossamer.models.fused.attention import windowed_attention
from gossamer.models.fused.head import head_grad
from gossamer.models.fused.rows import add_rows

__all__ = ["add_norm", "add_rows", "bias_gelu", "head_grad", "norm", "windowed_attention"]
