"""Losses and gradients of many copies of a model: the interface, and one copy after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, Self

import torch
from torch import Tensor

from gossamer.data.moving import Device
from gossamer.problems.vector_module import VectorModule
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

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same.

        In training mode. What the module draws at random, e.g. dropout masks, is a function of
        the node, of the step `t` and of the run's seed.
        """
        ...

    def to(self, device: Device, dtype: torch.dtype, /) -> Self:
        """The same on another device, in another precision."""
        ...


class LoopEvaluator:
    """One copy after the other: what every other evaluator must agree with."""

    def __init__(self, model: VectorModule) -> None:
        self._model = model

    @property
    def way(self) -> str:
        """How gradients are evaluated."""
        return "loop"

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        losses = [points.new_empty(0)]
        for point in points:
            with seeded(points.device):
                losses.append(self._model.evaluation_loss(point, inputs, targets)[None])
        return torch.cat(losses)

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        grads = torch.empty_like(x)
        for i, r in torch.cartesian_prod(torch.arange(len(x)), torch.arange(len(seeds))).tolist():
            with torch.enable_grad(), seeded(x.device, seeds[r], t, i):
                leaf = x[i, r].detach().requires_grad_()
                loss = self._model.training_loss(leaf, inputs[i, r], targets[i, r])
                grads[i, r] = torch.autograd.grad(loss, leaf)[0]
        return grads

    def to(self, device: Device, dtype: torch.dtype) -> "LoopEvaluator":
        """The same on another device, in another precision."""
        return LoopEvaluator(self._model.to(device, dtype))


def stacked_gradients(
    of_models: ModelGradients,
    random: bool,
    x: Tensor,
    inputs: Tensor,
    targets: Tensor,
    t: int,
    seeds: Sequence[int],
) -> Tensor:
    """`Evaluator.gradients` by a function that takes many models at once.

    All nodes and runs together, or run by run where the models are `random`: the masks of a run
    then do not depend on what else is stacked.
    """
    if not random:
        flat = of_models(x.flatten(0, 1), inputs.flatten(0, 1), targets.flatten(0, 1))
        return flat.view(x.shape)
    grads = torch.empty_like(x)
    for run, seed in enumerate(seeds):
        with seeded(x.device, seed, t):
            grads[:, run] = of_models(x[:, run], inputs[:, run], targets[:, run])
    return grads


@contextmanager
def seeded(device: torch.device, *ids: int) -> Iterator[None]:
    """Within, torch's global randomness on `device` is the stream "dropout" of `ids`.

    Afterwards it is as it was, and that of other devices is not touched.
    """
    seed, on_gpu = stream_seed("dropout", *ids), device.type == "cuda"
    with torch.random.fork_rng([device] if on_gpu else []):
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
