"""Losses and gradients of many copies of a model: the interface, and one copy after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol, Self

import torch
from torch import Tensor

from gossamer import random_state
from gossamer.captured import Captured, side_by_side
from gossamer.data.moving import Device
from gossamer.problems.own_kernels import OwnKernels
from gossamer.problems.vector_module import ALONE, VectorModule
from gossamer.seeding import stream_seed

ModelGradients = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(x, inputs, targets), each with an axis of models in front ↦ ∇ of model m's loss on batch m."""


class Evaluator(Protocol):
    """Evaluates a model at many points."""

    @property
    def way(self) -> str:
        """How gradients are evaluated, in a word."""
        ...

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`.

        In evaluation mode, differentiable, and a function of the arguments alone: what a module
        draws at random even in that mode is the same at every point and in every call.
        """
        ...

    def loss_gradients(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of these losses, each in its point: `(points, dim)` → the same."""
        ...

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same.

        In training mode. What the module draws at random, e.g. dropout masks, is a function of
        the node, of the step `t` and of the run's seed. On CUDA the next call may overwrite the
        result.
        """
        ...

    def to(self, device: Device, dtype: torch.dtype, /) -> Self:
        """The same on another device, in another precision."""
        ...

    def expecting(self, steps: int, /) -> Self:
        """The same, to be asked for the gradients of this many steps: long work may be prepared."""
        ...


class LoopEvaluator:
    """One copy after the other: what every other evaluator must agree with.

    On CUDA the copies of a model that draws nothing are evaluated side by side, as branches of one
    graph that is captured when it was asked for a few times, and with our own kernels.

    Args:
        model: the model.
        capture: whether a graph may be captured.
    """

    def __init__(self, model: VectorModule, capture: bool = True) -> None:
        self._model, self._capture = model, capture and not model.draws
        self._of_models = Captured(partial(_in_branches, model))

    @property
    def way(self) -> str:
        """How gradients are evaluated."""
        return "loop in a CUDA graph" if self._of_models.replays else "loop"

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        losses = [points.new_empty(0)]
        for point in points:
            with seeded(points.device, elsewhere=self._model.draws_elsewhere):
                losses.append(self._model.evaluation_loss(point, inputs, targets)[None])
        return torch.cat(losses)

    def loss_gradients(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of these losses, each in its point: `(points, dim)` → the same."""
        grads = torch.empty_like(points)
        for point, grad in zip(points, grads, strict=True):
            with seeded(points.device, elsewhere=self._model.draws_elsewhere):
                grad.copy_(self._model.evaluation_grad(point, inputs, targets))
        return grads

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        if self._capture and x.is_cuda:
            batch = (x, inputs, targets)
            return stacked_gradients(self._of_models, False, *batch, t, seeds)

        def of_run(run: int) -> Tensor:
            grads = torch.empty_like(x[:, run])
            for i, own in enumerate(zip(x[:, run], inputs[:, run], targets[:, run], strict=True)):
                with seeded(x.device, seeds[run], t, i, elsewhere=self._model.draws_elsewhere):
                    grads[i] = self._model.training_grad(*own)
            return grads

        return run_by_run(of_run, x, seeds)

    def to(self, device: Device, dtype: torch.dtype) -> "LoopEvaluator":
        """The same on another device, in another precision."""
        return LoopEvaluator(self._model.to(device, dtype), self._capture)

    def expecting(self, steps: int) -> "LoopEvaluator":
        """Itself: nothing is worth preparing."""
        return self


def _in_branches(model: VectorModule, x: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    grads = torch.empty_like(x)

    def write(grad: Tensor, *given: Tensor) -> None:
        grad.copy_(model.training_grad(*given))

    copies = zip(grads, x, inputs, targets, strict=True)
    with OwnKernels():
        side_by_side((partial(write, *each) for each in copies), x.device)
    return grads


def stacked_gradients(
    of_models: ModelGradients,
    random: bool,
    x: Tensor,
    inputs: Tensor,
    targets: Tensor,
    t: int,
    seeds: Sequence[int],
) -> Tensor:
    """`Evaluator.gradients` by a function that takes many models at once, perhaps `Captured`.

    All nodes and runs together, or run by run where the models are `random`: the masks of a run
    then do not depend on what else is stacked.
    """
    if not random:
        flat = of_models(x.flatten(0, 1), inputs.flatten(0, 1), targets.flatten(0, 1))
        return flat.view(x.shape)

    def of_run(run: int) -> Tensor:
        with seeded(x.device, seeds[run], t):
            return of_models(x[:, run], inputs[:, run], targets[:, run])

    return run_by_run(of_run, x, seeds)


def run_by_run(of_run: Callable[[int], Tensor], x: Tensor, seeds: Sequence[int]) -> Tensor:
    """The gradients `of_run` of each run, `(nodes, dim)`, side by side as in x.

    A run that is the one before it again, as those are that fill up a stack, is not evaluated again
    (on a GPU it would take longer to find that out).
    """
    if len(seeds) == 1:
        return of_run(0)[:, None]  # a copy less
    grads = torch.empty_like(x)
    for run, seed in enumerate(seeds):
        before = run - 1
        again = run > 0 and x.is_cpu and seed == seeds[before]
        same = again and torch.equal(x[:, run], x[:, before])
        grads[:, run] = grads[:, before] if same else of_run(run)
    return grads


@contextmanager
def seeded(device: torch.device, *ids: int, elsewhere: bool = False) -> Iterator[None]:
    """Within, the global randomness is the stream "dropout" of `ids`.

    That is torch's on `device` and, with `elsewhere`, Python's and numpy's. Afterwards it is as it
    was, and that of other devices is not touched. Threads, which share it, wait for each other.
    """
    seed, devices = stream_seed("dropout", *ids), [device] if device.type == "cuda" else []
    within = random_state.seeded if elsewhere else random_state.torch_seeded
    with ALONE, within(seed, devices):
        yield
