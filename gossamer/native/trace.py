"""One step of one run: gradient, noise, method and mix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Shapes
from gossamer.native.recorder import Recording, record_operations
from gossamer.networks import Mixer
from gossamer.noise import Noise
from gossamer.problems import Problem


@dataclass(frozen=True)
class OneRun:
    """A method with its problem, noise and network: what one of many stacked runs does.

    Args:
        algorithm: its numbers are inputs of the program, named `names`; all else is part of it.
        names: hyper-parameters that are numbers.
        problem: with exact gradients.
        noise: added to every gradient, if any.
        mixer: of a network on which nothing is lost.
        state: of one run, as `init` makes it: kinds and shapes.
    """

    algorithm: Algorithm[Any]
    names: Sequence[str]
    problem: Problem
    noise: Noise | None
    mixer: Mixer
    state: tuple[Tensor, ...]

    def step(self, t: Tensor, x: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        """(t, x, *state, sample of the noise if any, *numbers) ↦ (x, *state) of the next step."""
        fields, rest = given[: len(self.state)], list(given[len(self.state) :])
        grad = self.problem.local_grad(x)
        if self.noise is not None:
            grad = self.noise.apply(grad, rest.pop(0))
        numbers = dict(zip(self.names, rest, strict=True))
        method = self.algorithm.holding({**numbers, "scheduled": ()})
        local = (Shapes(self.problem.parameter_shapes),) if method.asks_local else ()
        state: Any = type(self.state)(*fields)
        x, state = method.step(t, x, grad, state, self.mixer, *local)  # type: ignore[arg-type]
        return (x, *state)

    def example(self) -> tuple[Tensor, ...]:
        """Inputs of `step` for a run, at random."""
        shape, like = (self.problem.num_nodes, 1, self.problem.dim), self.problem.start
        drawn = torch.Generator().manual_seed(0)
        numbers = [like.new_full((1, 1), 0.5) for _ in self.names]
        fields = [torch.rand(z.shape, generator=drawn, dtype=z.dtype) for z in self.state]
        samples = [] if self.noise is None else [_draw(shape, drawn, like)]
        return (like.new_ones(()), _draw(shape, drawn, like), *fields, *samples, *numbers)

    def operations(self) -> Recording:
        """What `step` does."""
        return record_operations(self.step, self.example())


def _draw(shape: Sequence[int], generator: torch.Generator, like: Tensor) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=like.dtype)
