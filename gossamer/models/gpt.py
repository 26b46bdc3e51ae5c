"""The paper's GPT, a decoder-only Transformer of 3,018,240 parameters."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from gossamer.errors import require
from gossamer.seeding import stream


class GPT(nn.Module):
    """A pre-LayerNorm Transformer: tokens `(batch, time)` → logits `(batch, time, vocabulary)`.

        h = E[token] + P[position]
        h = h + Attention(LayerNorm(h)),   h = h + W₂ GELU(W₁ LayerNorm(h)),     `layers` times
        logits = U LayerNorm(h)

    Biases everywhere but in the head U, which is not tied to the embedding E; the hidden layer
    W₁ is four times the width. GELU is GPT's, by tanh. Weights start as N(0, 0.02²), biases at 0.

    Args:
        vocabulary: number of words.
        context: most tokens in a window.
        width: of the residual stream.
        heads: of attention.
        layers: number of blocks.
        causal: attend to the past only. If not, position i also sees the token i + 1 that it is
            to predict, and the model learns to copy it.
        dropout: on the embedding, the attention weights and the output of every branch.
        seed: of the initial weights.

    >>> sum(p.numel() for p in GPT().parameters())
    3018240
    """

    def __init__(
        self,
        vocabulary: int = 10208,
        context: int = 64,
        width: int = 128,
        heads: int = 4,
        layers: int = 2,
        *,
        causal: bool = True,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        require(width % heads == 0, "heads", heads, f"a divisor of width = {width}")
        self.context, self.causal, self.heads, self.dropout = context, causal, heads, dropout
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self._initialize(seed)

    @torch.no_grad()
    def _initialize(self, seed: int) -> None:
        generator = stream("gpt", seed)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                module.weight.normal_(std=0.02, generator=generator)
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.zero_()

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next token at every position."""
        h = self.token(tokens) + self.position.weight[: tokens.shape[-1]]
        h = functional.dropout(h, self.dropout, self.training)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


class Block(nn.Module):
    """Attention, then a network of one hidden layer, each added to the residual stream."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, h: Tensor) -> Tensor:
        """`(batch, time, width)` → the same."""
        dropout = self.dropout if self.training else 0.0
        attended = attention(self.qkv(self.norm1(h)), self.heads, self.causal, dropout)
        h = h + functional.dropout(self.project(attended), dropout)
        hidden = functional.gelu(self.expand(self.norm2(h)), approximate="tanh")
        return h + functional.dropout(self.contract(hidden), dropout)


def attention(qkv: Tensor, heads: int, causal: bool, dropout: float = 0.0) -> Tensor:
    """softmax(q kᵀ/√d) v in every head: `(batch, time, 3 width)` → `(batch, time, width)`."""
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).transpose(-4, -2).unbind(-3)  # (batch, heads, …)
    h = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    return h.transpose(-3, -2).flatten(-2)
