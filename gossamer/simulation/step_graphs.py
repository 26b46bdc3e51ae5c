"""Steps of stacked runs as CUDA graphs, so that nothing waits for their launches."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.captured import Captured
from gossamer.networks import Channel
from gossamer.simulation.step import Step

DEVICES = ["cuda"]
"""Kinds of devices on which steps are captured."""

MOST_NUMBERS = 2**22
"""Numbers of a stack up to which its steps are captured; beyond, launches are hidden by work."""

Gradient = Callable[[Tensor, Tensor | None], Tensor]
"""(x, noise drawn for the step) ↦ the stochastic gradient, the same in every step."""


class StepGraphs:
    """Takes steps of a stack in graphs of 1, 2, 4, … steps each.

    What changes from step to step is handed over in tensors: the noise, t, and the numbers that
    schedules give. A graph is captured when it was asked for a few times; see `Captured`.

    Args:
        algorithm: its tensors hold one row per run.
        step: how its step is evaluated.
        gradient: of all nodes and runs.
        channel: whose rounds repeat.
    """

    def __init__(
        self, algorithm: Algorithm[Any], step: Step, gradient: Gradient, channel: Channel
    ) -> None:
        assert channel.period is not None
        self._algorithm, self._step, self._gradient = algorithm, step, gradient
        self._channel, self._period = channel, channel.period
        self._graphs: dict[tuple[int, int], Captured] = {}

    def advance(
        self, steps: range, x: Tensor, state: Any, noise: Tensor | None
    ) -> tuple[Tensor, Any]:
        """x and state after these steps, `noise` that of each of them."""
        for some in powers_of_two(steps):
            drawn = () if noise is None else (noise[some.start - steps.start :][: len(some)],)
            given = (x, *state, self._times(some, x), *drawn, *self._numbers(some, x))
            new_x, new_state = self._graph(some, state, noise is not None)(*given)
            x, state = new_x.clone(), type(state)(*(z.clone() for z in new_state))
        return x, state

    def _graph(self, steps: range, state: Any, noisy: bool) -> Captured:
        first = steps.start % self._period
        key = (first, len(steps))
        if key not in self._graphs:
            taken = range(first, first + len(steps))
            self._graphs[key] = Captured(self._function(taken, type(state), noisy))
        return self._graphs[key]

    def _function(self, rounds: range, kind: type[Any], noisy: bool) -> Callable[..., Any]:
        """(x, *state, times, noise of each step, *numbers of each) ↦ x and state after them."""
        fields = len(getattr(kind, "_fields", ()))

        def function(x: Tensor, *given: Tensor) -> tuple[Tensor, Any]:
            state, (times, *rest) = kind(*given[:fields]), given[fields:]
            noise, numbers = (rest[0], rest[1:]) if noisy else ([None] * len(rounds), rest)
            for k, t in enumerate(rounds):
                method = self._method([row[k] for row in numbers])
                grad, mix = self._gradient(x, noise[k]), self._channel.talk(t, ())
                x, state = self._step(method, times[k], x, grad, state, mix)
            return x, state

        return function

    def _method(self, numbers: list[Tensor]) -> Algorithm[Any]:
        if not numbers:
            return self._algorithm
        named = dict(zip(self._algorithm.scheduled, numbers, strict=True))
        return self._algorithm.holding({**named, "scheduled": ()})

    def _times(self, steps: range, x: Tensor) -> Tensor:
        return torch.arange(steps.start, steps.stop, dtype=x.dtype, device=x.device)

    def _numbers(self, steps: range, x: Tensor) -> list[Tensor]:
        """What every schedule gives in these steps, `(steps, …)`."""
        if not self._algorithm.scheduled:
            return []
        methods = list(self._algorithm.along(steps, x))
        columns = [[getattr(one, name) for one in methods] for name in self._algorithm.scheduled]
        return [_column(values, x) for values in columns]


def _column(values: list[Any], like: Tensor) -> Tensor:
    if isinstance(values[0], Tensor):
        return torch.stack(values).to(like)
    return torch.tensor(values, dtype=like.dtype, device=like.device)


def powers_of_two(steps: range) -> Iterator[range]:
    """The same steps in pieces of 1, 2, 4, … of them, the longest first.

    >>> list(powers_of_two(range(3, 14)))
    [range(3, 11), range(11, 13), range(13, 14)]
    """
    while len(steps) > 0:
        length = 1 << (len(steps).bit_length() - 1)
        yield steps[:length]
        steps = steps[length:]
