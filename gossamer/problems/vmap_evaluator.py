"""All copies of a model at once, by `torch.func.vmap`."""

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Self

import torch
from torch import Tensor
from torch.func import vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from gossamer.captured import Captured
from gossamer.data.moving import Device
from gossamer.problems.compiled import Compiled
from gossamer.problems.evaluator import ModelGradients, seeded, stacked_gradients
from gossamer.problems.module_failures import refusing
from gossamer.problems.padding import PaddingRows
from gossamer.problems.vector_module import ALONE, VectorModule, exact_convolutions

EVALUATIONS_AT_ONCE = {False: 512, True: 2048}
"""On a CPU or a GPU, points times samples of which losses are evaluated together.

More make a GPU faster, and a CPU slower: a small ResNet took 6 times as long for 2,048.
"""

COMPILED_FROM = 10_000
"""Steps to come from which a GPU saves more than the half minute that compiling takes.

Not where there are convolutions, which a compiler leaves as they are: on an H200 a ResNet-20 took a
minute to compile and was no faster than its loop in a graph; a GPT took 2.9 ms in place of 7. Nor
where masks are drawn, which not every compiler can do as they are drawn without it.
"""

ModelLoss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(x, inputs, targets) of one model ↦ its loss."""

StackedLoss = Callable[[ModelLoss, Tensor, Tensor, Tensor], Tensor]
"""The loss of one model, (x, inputs, targets) of many ↦ what is told of each."""


@dataclass(frozen=True)
class Stacking:
    """How to evaluate many models at once."""

    own_batches: bool
    """Whether every model has a batch of its own, or all the same."""

    draws: Literal["different", "same"]
    """What models draw at random, beside each other."""

    random: bool = False
    """Whether they draw at all; `vmap` must be told."""

    padding: bool = False
    """Whether they have embeddings with a padding row."""

    def losses(self, loss: ModelLoss, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The losses of all models: `(models, dim)` → `(models,)`."""
        batch = 0 if self.own_batches else None
        randomness = self.draws if self.random else "error"
        stacked = vmap(loss, (0, batch, batch), randomness=randomness)
        attention = sdpa_kernel(SDPBackend.MATH)  # the form that vmap knows everywhere
        with ALONE, attention, PaddingRows() if self.padding else nullcontext():
            return stacked(x, inputs, targets)

    def gradients(self, loss: ModelLoss, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Their gradients: `(models, dim)` → the same."""
        with torch.enable_grad(), exact_convolutions(x.device):
            x = x.detach().requires_grad_()
            return torch.autograd.grad(self.losses(loss, x, inputs, targets).sum(), x)[0]

    def learnt(self, loss: ModelLoss, x: Tensor, inputs: Tensor, targets: Tensor) -> Self:
        """With what the models need, found by trying."""
        try:
            with PaddingRows() as rows:
                self.gradients(loss, x, inputs, targets)
        except RuntimeError as reason:
            if "randomness" not in str(reason) or self.random:
                raise
            return replace(self, random=True).learnt(loss, x, inputs, targets)
        return replace(self, padding=rows.met)


class VmapEvaluator:
    """All copies of a model at once.

    On CUDA the gradient is captured as a graph when it was asked for a few times, and compiled
    before that if there will be enough steps for this to pay.

    Args:
        model: the model; refused if `vmap` cannot evaluate it.
        inputs, targets: a few samples to try it on.
        compile: True compiles the gradient whatever is to come; False neither compiles nor captures
            it.
    """

    def __init__(
        self, model: VectorModule, inputs: Tensor, targets: Tensor, compile: bool | None = None
    ) -> None:
        self._model, x = model, model.start.expand(2, -1)
        batches = (part.expand(2, *part.shape) for part in (inputs, targets))
        training, evaluation = Stacking(True, "different"), Stacking(False, "same")
        with refusing(self._told):
            self._training = training.learnt(model.training_loss, x, *batches)
            self._evaluation = evaluation.learnt(model.evaluation_loss, x, inputs, targets)
        self._compile, self._compiles = compile, compile is True
        self._of_models = self._prepared()

    def _told(self, reason: str) -> str:
        can_not = f"which vmap cannot evaluate for many nodes at once ({reason})"
        return f"module: got {self._model.name}, {can_not}; pass vectorize=False"

    def _prepared(self) -> ModelGradients:
        """The gradients of many models, as they are to be evaluated where the model is."""
        gradients = partial(self._training.gradients, self._model.training_loss)
        if self._compile is False or self._model.start.device.type != "cuda":
            return gradients
        return Captured(Compiled(gradients) if self._compiles else gradients)

    def expecting(self, steps: int) -> Self:
        """The same, to be asked for the gradients of this many steps."""
        decided = self._compile is not None or self._compiles
        gains = steps >= COMPILED_FROM and not self._model.convolves and not self.draws
        if decided or not gains or self._model.start.device.type != "cuda":
            return self
        expecting = copy.copy(self)
        expecting._compiles = True
        expecting._of_models = expecting._prepared()
        return expecting

    @property
    def draws(self) -> bool:
        """Whether the model draws at random, e.g. dropout masks."""
        return self._training.random

    @property
    def way(self) -> str:
        """How gradients are evaluated."""
        if not isinstance(self._of_models, Captured):
            return "vmap"
        compiled = isinstance(self._of_models.function, Compiled)
        return "vmap" + ", compiled" * compiled + " in a CUDA graph" * self._of_models.replays

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        if len(points) == 0:
            return points.new_empty(0)
        return self._few_at_once(self._evaluation.losses, points, inputs, targets)

    def loss_gradients(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of these losses, each in its point: `(points, dim)` → the same."""
        return self._few_at_once(self._evaluation.gradients, points, inputs, targets)

    def _few_at_once(
        self, evaluate: StackedLoss, points: Tensor, inputs: Tensor, targets: Tensor
    ) -> Tensor:
        on_gpu, told = points.is_cuda, []
        for some in points.split(max(1, EVALUATIONS_AT_ONCE[on_gpu] // len(inputs))):
            with seeded(points.device) if self._evaluation.random else nullcontext():
                told.append(evaluate(self._model.evaluation_loss, some, inputs, targets))
        return torch.cat(told)

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        stacked = (self._of_models, self._training.random)
        return stacked_gradients(*stacked, x, inputs, targets, t, seeds)

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, in another precision."""
        moved = copy.copy(self)
        moved._model = self._model.to(device, dtype)
        moved._of_models = moved._prepared()
        return moved
