"""The paper's GPT, a decoder-only Transformer of 3,018,240 parameters."""

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from gossamer.errors import choice, refuse, require, whole
from gossamer.interval import FRACTION, within
from gossamer.seeding import stream

Style = Literal["gpt", "pytorch"]


class GPT(nn.Module):
    """A decoder-only Transformer: tokens `(batch, time)` → logits `(batch, time, vocabulary)`.

    h ← E[token] + P[position]
    h ← h + Attention(LayerNorm(h))                         in every block
    h ← h + W₂ GELU(W₁ LayerNorm(h))                        in every block
    logits = U LayerNorm(h)

    Every linear map has a bias except the head U, which does not share its weights with the
    embedding E. The hidden layer is four times as wide as h. GELU is approximated by tanh, as in
    GPT. Initially all matrices are drawn from N(0, 0.02²), and biases are 0.

    These are the equations of the style `"gpt"`. The style `"pytorch"` has the same sizes, but its
    blocks are those of `nn.TransformerEncoderLayer` with default options, i.e. with LayerNorm after
    each sum and with ReLU:

    h ← LayerNorm(h + Attention(h))                         in every block
    h ← LayerNorm(h + W₂ ReLU(W₁ h))                        in every block

    Its initial weights are those of PyTorch, too. E is drawn from N(0, 1), and P is 0. All other
    matrices are uniform, with Xavier's bound for q, k and v, and the bound 1/√columns otherwise.

    Args:
        vocabulary: number of different tokens.
        context: maximum number of tokens in a window.
        width: size of the vector h at each position.
        heads: number of attention heads.
        layers: number of blocks.
        causal: whether a position attends only to itself and the past. If not, position i also sees
            the token i + 1 that it is to predict, and the model learns to copy it.
        dropout: dropout probability. Dropout acts on the attention weights, on the output of every
            branch, and on the embedding (`"gpt"`) or the hidden layers (`"pytorch"`).
        seed: seed of the initial weights.
        style: `"gpt"` or `"pytorch"`.

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
        style: Style = "gpt",
    ) -> None:
        super().__init__()
        choice("style", style, get_args(Style))
        _check_sizes(vocabulary=vocabulary, context=context, width=width, heads=heads)
        whole("layers", layers, 0)
        require(width % heads == 0, "heads", heads, f"a divisor of width = {width}")
        within("dropout", dropout, FRACTION)
        self.context, self.causal, self.heads = context, causal, heads
        self.dropout, self.style = dropout, style
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        blocks = (Block(width, heads, causal, dropout, style) for _ in range(layers))
        self.blocks = nn.ModuleList(blocks)
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
        if self.style == "pytorch":
            self._initialize_as_pytorch(generator)

    def _initialize_as_pytorch(self, generator: torch.Generator) -> None:
        self.token.weight.normal_(generator=generator)
        self.position.weight.zero_()
        uniform(self.head.weight, self.head.weight, generator)
        for block in self.blocks:
            assert isinstance(block, Block)
            nn.init.xavier_uniform_(block.qkv.weight, generator=generator)
            uniform(block.project.weight, block.project.weight, generator)
            for layer in (block.expand, block.contract):
                uniform(layer.weight, layer.weight, generator)
                uniform(layer.bias, layer.weight, generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits of the next token at every position."""
        if tokens.shape[-1] > self.context:
            found = f"windows of {tokens.shape[-1]}"
            refuse("tokens", found, f"at most context = {self.context}")
        h = self.token(tokens) + self.position.weight[: tokens.shape[-1]]
        if self.style == "gpt":
            h = functional.dropout(h, self.dropout, self.training)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


class Block(nn.Module):
    """Attention, then a network of one hidden layer, each added to the residual stream."""

    def __init__(self, width: int, heads: int, causal: bool, dropout: float, style: Style) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout, self.style = heads, causal, dropout, style
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, h: Tensor) -> Tensor:
        """`(batch, time, width)` → the same."""
        if self.style == "gpt":
            h = h + self._attend(self.norm1(h))
            return h + self._feed(self.norm2(h))
        h = self.norm1(h + self._attend(h))
        return self.norm2(h + self._feed(h))

    def _attend(self, h: Tensor) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        attended = attention(self.qkv(h), self.heads, self.causal, dropout)
        return functional.dropout(self.project(attended), dropout)

    def _feed(self, h: Tensor) -> Tensor:
        hidden = self.expand(h)
        if self.style == "gpt":
            hidden = functional.gelu(hidden, approximate="tanh")
        else:
            hidden = functional.dropout(functional.relu(hidden), self.dropout, self.training)
        return functional.dropout(self.contract(hidden), self.dropout, self.training)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        whole(name, size, 1)


def uniform(parameter: Tensor, matrix: Tensor, generator: torch.Generator) -> None:
    """Fill `parameter` from U(−1/√columns, 1/√columns) of the matrix that it belongs to."""
    bound = 1 / math.sqrt(matrix.shape[1])
    parameter.uniform_(-bound, bound, generator=generator)


def attention(qkv: Tensor, heads: int, causal: bool, dropout: float = 0.0) -> Tensor:
    """softmax(q kᵀ/√d) v in every head: `(batch, time, 3 width)` → `(batch, time, width)`."""
    parts = qkv.unflatten(-1, (3, heads, -1)).unbind(-3)
    q, k, v = (part.transpose(-3, -2) for part in parts)  # (batch, heads, time, …)
    h = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    return h.transpose(-3, -2).flatten(-2)
