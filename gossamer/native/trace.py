"""One step of one run: gradient, noise, method and mix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Shapes
from gossamer.native.expressions import Unsupported
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

    @classmethod
    def of(
        cls,
        algorithm: Algorithm[Any],
        names: Sequence[str],
        problem: Problem,
        noise: Noise | None,
        mixer: Mixer,
    ) -> OneRun:
        """With the state that `init` makes; refused where C cannot hold it."""
        given = algorithm.hyperparameters.items()
        if any(isinstance(value, Tensor) and name not in names for name, value in given):
            raise Unsupported("a hyper-parameter of every run that is no number")
        x = problem.start.expand(problem.num_nodes, 1, problem.dim).contiguous()
        state = algorithm.holding({name: x.new_full((1, 1), 0.5) for name in names}).init(x)
        if not all(z.ndim == 3 and z.is_floating_point() for z in state):
            raise Unsupported("a state that is not like x")
        return cls(algorithm, names, problem, noise, mixer, state)

    @property
    def local(self) -> tuple[Shapes, ...]:
        """What a step is given that asks for the shapes of the parameters."""
        return (Shapes(self.problem.parameter_shapes),) if self.algorithm.asks_local else ()

    def holding(self, numbers: Sequence[Tensor]) -> Algorithm[Any]:
        """The method with these numbers in place of its own."""
        return self.algorithm.holding(
            {**dict(zip(self.names, numbers, strict=True)), "scheduled": ()}
        )

    def step(self, t: Tensor, x: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        """(t, x, *state, sample of the noise if any, *numbers) ↦ (x, *state) of the next step."""
        fields, rest = given[: len(self.state)], list(given[len(self.state) :])
        grad = self.problem.local_grad(x)
        _require_like("a gradient", grad, x)
        if self.noise is not None:
            grad = self.noise.apply(grad, rest.pop(0))
            _require_like("a noisy gradient", grad, x)
        state: Any = type(self.state)(*fields)
        step: Any = self.holding(rest).step
        after, state = step(t, x, grad, state, self.mixer, *self.local)
        for new, old in zip((after, *state), (x, *fields), strict=True):
            _require_like("x or a field of the state after a step", new, old)
        return (after, *state)

    def example(self, seed: int) -> tuple[Tensor, ...]:
        """Inputs of `step` for a run, at random.

        t is in float64 whatever the precision: arithmetic with it is then as with Python's number.
        """
        drawn, like = torch.Generator().manual_seed(seed), self.problem.start
        shape = (self.problem.num_nodes, 1, self.problem.dim)
        draw = lambda *size, of=like: torch.rand(size, generator=drawn, dtype=of.dtype)  # noqa: E731
        fields = [draw(*z.shape, of=z) for z in self.state]
        samples = [] if self.noise is None else [draw(*shape)]
        numbers = [draw(1, 1) for _ in self.names]
        t = torch.full((), 1.0 + seed, dtype=torch.float64)
        return (t, draw(*shape) - 0.5, *fields, *samples, *numbers)

    def operations(self, seed: int) -> Recording:
        """What `step` does with the inputs of an example, once it has prepared what it keeps."""
        self.step(*self.example(seed))
        return record_operations(self.step, self.example(seed))


def _require_like(what: str, found: Tensor, like: Tensor) -> None:
    """Refuse what the step as it is written would broadcast or convert, or refuse by name."""
    if found.shape != like.shape or found.dtype != like.dtype:
        raise Unsupported(f"{what}: shape {found.shape}, {found.dtype}")
