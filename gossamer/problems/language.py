"""The paper's language-modelling task: a GPT on a stream of tokens, split over the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import torch
from torch import Tensor
from torch.nn import functional

from gossamer.data.moving import Device
from gossamer.data.order import TokenWindows
from gossamer.data.pairs import Pairs
from gossamer.data.tokens import Corpus
from gossamer.errors import choice
from gossamer.models.gpt import GPT, Style
from gossamer.models.stacked_gpt import StackedGPT
from gossamer.problems.batches import TokenBatches
from gossamer.problems.evaluator import Evaluator, stacked_gradients
from gossamer.problems.module_problem import ModuleProblem
from gossamer.problems.pieces import SAMPLES_AT_ONCE
from gossamer.problems.problem import as_call, require_nodes
from gossamer.seeding import stream
from gossamer.twin import Twin

LanguageProtocol = Literal["causal", "paper"]


class LanguageProblem(ModuleProblem):
    """n nodes train a GPT to predict the next token, each on its part of a corpus.

    By default it is the GPT of the GT-NSGDm paper (Yu, Jakovetić and Kar, 2026).
    Node i holds a contiguous shard of the training tokens, cut into windows of `context` tokens
    that begin `stride` tokens apart; f_i is the mean cross-entropy over its windows. The gradients
    of all nodes are evaluated together by `StackedGPT`, unless `vectorize` is False.

    There are two protocols:

    - `"causal"`: tokens stay in order, and attention sees only the past, as usual in language
      modelling.
    - `"paper"`: training tokens are shuffled once, and attention sees both directions. Position i
      then sees the token that it is to predict, and the model learns to copy it. Losses near 0.25
      nats per token, as printed in the paper's table, are possible only under such a protocol.

    Args:
        corpus: the training and validation tokens, and their vocabulary.
        num_nodes: n.
        protocol: `"causal"` or `"paper"`.
        stride: number of tokens from the start of a window to the start of the next.
        batch_size: number of windows per node and step.
        context, width, heads, layers: argument of `GPT`; default as in the paper.
        dropout, style: argument of `GPT`; the paper does not print its value.
        seed: seed of the initial weights and of the shuffling.
        vectorize: whether to evaluate all nodes together.
        autocast: precision of matrix products, e.g. `torch.bfloat16`.

    >>> from gossamer.data import zipf_corpus
    >>> corpus = zipf_corpus(5_000, num_types=48)
    >>> problem = LanguageProblem(corpus, 4, stride=8, batch_size=4, context=8, width=16, heads=2)
    >>> problem.dim, problem.steps_per_epoch
    (8352, 38)
    >>> [round(float(v), 2) for v in problem.validation_loss(problem.start[None])]   # log 51 = 3.93
    [3.94]
    """

    def __init__(
        self,
        corpus: Corpus,
        num_nodes: int = 8,
        *,
        protocol: LanguageProtocol = "causal",
        stride: int,
        batch_size: int = 64,
        context: int = 64,
        width: int = 128,
        heads: int = 4,
        layers: int = 2,
        dropout: float = 0.0,
        style: Style = "gpt",
        seed: int = 0,
        vectorize: bool = True,
        autocast: torch.dtype | None = None,
    ) -> None:
        choice("protocol", protocol, get_args(LanguageProtocol))
        require_nodes(num_nodes)
        self.corpus, self.protocol, self.stride, self.seed = corpus, protocol, stride, seed
        self.context, self.dropout, self.style = context, dropout, style
        tokens = corpus.train if protocol == "causal" else shuffled(corpus.train, seed)
        batches = TokenBatches(tokens, num_nodes, context, stride, batch_size)
        sizes = (len(corpus.vocabulary), context, width, heads, layers)
        causal = protocol == "causal"
        model = GPT(*sizes, causal=causal, dropout=dropout, seed=seed, style=style)
        super().__init__(
            model,
            token_loss,
            batches.datasets,
            batch_size=batch_size,
            validation=TokenWindows(corpus.validation, context, context),
            vectorize=vectorize,
            autocast=autocast,
        )
        self.batches = batches
        if vectorize:
            self.evaluator = StackedGPTEvaluator(self.evaluator, StackedGPT(model, autocast))

    def _samples_at_once(self, nodes: Sequence[Pairs], held_out: Pairs | None) -> int:
        """A few: windows have one length, so the mean over tokens is one over windows."""
        return SAMPLES_AT_ONCE

    def twin(self, x: Tensor) -> Twin | None:
        """Memory for the copy of `x` that `StackedGPT` reads (see `Problem.twin`), or None.

        There is a copy only on CUDA, of points in the problem's precision, if nodes are evaluated
        together (`vectorize`), and if there is no dropout or only one run.
        """
        by, at_once = self.evaluator, self.dropout == 0 or x.shape[1] == 1
        as_it_is = x.is_cuda and x.dtype == self.start.dtype
        if not isinstance(by, StackedGPTEvaluator) or not as_it_is or not at_once:
            return None
        return by.stacked.twin(x.flatten(0, 1))

    def describe(self) -> dict[str, Any]:
        """The description of `ModuleProblem`, plus corpus, protocol and arguments."""
        corpus = {"corpus": self.corpus.name, "digest": self.corpus.digest()}
        own = {"protocol": self.protocol, "stride": self.stride, "seed": self.seed}
        model = {"context": self.context, "dropout": self.dropout, "style": self.style}
        return {**super().describe(), **corpus, **own, **model}

    def __repr__(self) -> str:
        task = {"protocol": self.protocol, "stride": self.stride, "batch_size": self.batch_size}
        sizes = {"context": self.context, "dim": self.dim}
        data = {"corpus": self.corpus.name, "num_nodes": self.num_nodes}
        return as_call("LanguageProblem", **data, **task, **sizes)


@dataclass(frozen=True)
class StackedGPTEvaluator:
    """Gradients by a `StackedGPT`; losses as those of the modules."""

    modules: Evaluator
    stacked: StackedGPT

    @property
    def way(self) -> str:
        """How gradients are evaluated."""
        return "stacked by hand"

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        return self.modules.losses(points, inputs, targets)

    def loss_gradients(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of these losses, each in its point: `(points, dim)` → the same."""
        return self.modules.loss_gradients(points, inputs, targets)

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        random = self.stacked.dropout > 0
        return stacked_gradients(self.stacked.grad, random, x, inputs, targets, t, seeds)

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, in another precision."""
        return replace(self, modules=self.modules.to(device, dtype))

    def expecting(self, steps: int) -> Self:
        """Itself: nothing is worth preparing."""
        return self


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats per token."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def shuffled(tokens: Tensor, seed: int) -> Tensor:
    """The tokens in random order: the same words, no sentences."""
    return tokens[torch.randperm(len(tokens), generator=stream("shuffle", seed))]
