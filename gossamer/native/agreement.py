"""Whether steps in C are the steps as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.native.trace import OneRun
from gossamer.problems.flat_program import agree

if TYPE_CHECKING:
    from gossamer.native.loop import NativeLoop

FIRST, STEPS = 5, 3
"""The steps that are compared."""


def agrees(loop: NativeLoop, runs: int) -> bool:
    """Whether a few steps of a few runs are those of the method, up to √ε of the largest number.

    ε is that of x, in whose precision messages and gradients are, also where totals have more.

    Runs begin at random points of different sizes, with different numbers of the method and noise,
    none of which the recording has seen.
    """
    trial = Trial.drawn(loop.one, min(runs, loop.width + 1))
    given = (trial.x, trial.state, trial.samples, trial.place)
    found_x, found_state = loop.advance(FIRST, [trial.method] * STEPS, *given)
    x, state = trial.as_written()
    pairs = zip((found_x, *found_state), (x, *state), strict=True)
    return all(agree(found, expected, x.dtype) for found, expected in pairs)


@dataclass(frozen=True)
class Trial:
    """Stacked runs before a few steps."""

    one: OneRun
    method: Algorithm[Any]
    x: Tensor
    state: Any
    samples: Tensor | None
    place: Tensor

    @classmethod
    def drawn(cls, one: OneRun, runs: int) -> Trial:
        """At random."""
        drawn, like = torch.Generator().manual_seed(2), one.problem.start
        nodes, dim = one.problem.num_nodes, one.problem.dim
        sizes = 10.0 ** -(torch.arange(runs) % 3)[:, None].to(like)

        def draw(*shape: int, of: Tensor = like) -> Tensor:
            return torch.rand(shape, generator=drawn, dtype=of.dtype)

        x = sizes * (2 * draw(nodes, runs, dim) - 1)
        fields = [sizes.to(z) * draw(len(z), runs, z.shape[2], of=z) for z in one.state]
        samples = None if one.noise is None else 2 * draw(STEPS, nodes, runs, dim) - 1
        method = one.holding([0.2 + 0.6 * draw(runs, 1) for _ in one.names])
        state: Any = type(one.state)
        return cls(one, method, x, state(*fields), samples, torch.arange(runs).flip(0))

    def as_written(self) -> tuple[Tensor, Any]:
        """x and state after the steps."""
        x, state, problem = self.x, self.state, self.one.problem
        mixer: Any = self.one.mixer
        for k in range(STEPS):
            grad = problem.sample_grad(x, FIRST + k, [0] * x.shape[1])
            if self.one.noise is not None and self.samples is not None:
                grad = self.one.noise.apply(grad, self.samples[k][:, self.place])
            given = (FIRST + k, x, grad, state, mixer)
            x, state = self.method.step(*given, *self.one.local)
        return x, state
