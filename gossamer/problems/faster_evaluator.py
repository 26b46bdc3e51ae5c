"""The faster of two ways to evaluate all copies of a model, found by a short measurement."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Self

import torch
from torch import Tensor

from gossamer.captured import AS_WRITTEN
from gossamer.data.moving import Device
from gossamer.problems.evaluator import Evaluator

TIMED_NODES = 2
"""Nodes whose copies are evaluated one after the other to learn how long all would take."""

REPETITIONS, MOST_SECONDS = 7, 0.3
"""How often both ways are timed, unless that takes longer."""

MOST_BRANCHES = 64
"""Copies up to which a GPU is tried with them side by side."""

Given = tuple[Tensor, Tensor, Tensor, int, Sequence[int]]
"""x, inputs, targets, step and seeds of a gradient."""


class Choice(NamedTuple):
    """What was chosen."""

    at_once: bool
    way: str


class FasterEvaluator:
    """At once or one after the other, whichever the machine does faster.

    On a CPU small products are faster at once and convolutions one after the other; where the line
    is depends on the machine. On CUDA both ways are timed as captured graphs, unless there are many
    copies, which are evaluated at once. Both ways give the same gradients up to rounding. The way
    is chosen at the first gradient, once for a device and precision, and kept. On a CPU losses go
    the same way from then on.

    Args:
        at_once: evaluates all copies together.
        in_turn: one copy after the other.
    """

    def __init__(self, at_once: Evaluator, in_turn: Evaluator) -> None:
        self.at_once, self.in_turn, self._prepared = at_once, in_turn, False

    @cached_property
    def _chosen(self) -> dict[tuple[torch.device, torch.dtype, bool], Choice]:
        """Says nothing about the problem, so that a fingerprint must not see it."""
        return {}

    @property
    def way(self) -> str:
        """What was chosen: "vmap", "loop" or, before the first gradient, "not measured yet"."""
        ways = dict.fromkeys(choice.way for choice in self._chosen.values())
        return "; ".join(ways) or "not measured yet"

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        return self._known_way(points).losses(points, inputs, targets)

    def loss_gradients(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """∇ of these losses, each in its point: `(points, dim)` → the same."""
        return self._known_way(points).loss_gradients(points, inputs, targets)

    def _known_way(self, points: Tensor) -> Evaluator:
        """That of gradients, if it was measured on a CPU: on a GPU they gain by a graph."""
        chosen = self._chosen.get((points.device, points.dtype, self._prepared))
        in_turn = points.is_cpu and chosen is not None and not chosen.at_once
        return self.in_turn if in_turn else self.at_once

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        given, place = (x, inputs, targets, t, seeds), (x.device, x.dtype, self._prepared)
        if place not in self._chosen:
            self._chosen[place] = self._faster(given)
        way = self.at_once if self._chosen[place].at_once else self.in_turn
        return way.gradients(*given)

    def _faster(self, given: Given) -> Choice:
        """Found by evaluating both."""
        on_gpu = given[0].is_cuda
        at_once, in_turn = self._times_on_gpu(given) if on_gpu else self._times_on_cpu(given)
        chosen = self.at_once if at_once <= in_turn else self.in_turn
        return Choice(chosen is self.at_once, chosen.way)

    def _times_on_cpu(self, given: Given) -> tuple[float, float]:
        """Those of a node, of a few nodes one after the other and of as many at once as is quick.

        For a large model all at once would take long, and much memory, only to be timed.
        """
        nodes = len(given[0])
        few = min(TIMED_NODES, nodes)
        quick = shortest_times(_of_first(few, self.in_turn, given))[0] / few
        many = min(nodes, max(few, int(MOST_SECONDS / quick)))
        calls = _of_first(many, self.at_once, given), _of_first(few, self.in_turn, given)
        at_once, in_turn = shortest_times(*calls)
        return at_once / many, in_turn / few

    def _times_on_gpu(self, given: Given) -> tuple[float, float]:
        """All nodes either way, once they are captured; the graph that loses is let go."""
        x = given[0]
        if x[..., 0].numel() > MOST_BRANCHES:
            return 0.0, math.inf
        at_once, in_turn = (_captured_time(way, given) for way in (self.at_once, self.in_turn))
        if at_once <= in_turn:
            self.in_turn = self.in_turn.to(x.device, x.dtype)
        else:
            self.at_once = self.at_once.to(x.device, x.dtype)
        return at_once, in_turn

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, in another precision; what is chosen there is known here."""
        known = self._chosen
        moved = copy.copy(self)
        moved._chosen = known
        moved.at_once = self.at_once.to(device, dtype)
        moved.in_turn = self.in_turn.to(device, dtype)
        return moved

    def expecting(self, steps: int) -> Self:
        """The same, prepared for this many steps if that pays off; what is chosen is known here."""
        prepared = self.at_once.expecting(steps)
        if prepared is self.at_once:
            return self
        known = self._chosen
        expecting = copy.copy(self)
        expecting._chosen, expecting.at_once, expecting._prepared = known, prepared, True
        return expecting


def _of_first(nodes: int, way: Evaluator, given: Given) -> Callable[[], Tensor]:
    """Evaluates the gradients of the first nodes."""
    *stacked, t, seeds = given
    x, inputs, targets = (z[:nodes] for z in stacked)
    return lambda: way.gradients(x, inputs, targets, t, seeds)


def _captured_time(way: Evaluator, given: Given) -> float:
    """Seconds of a gradient that was captured, ∞ where memory ends."""

    def finished() -> None:
        way.gradients(*given)
        torch.cuda.synchronize()

    try:
        for _ in range(AS_WRITTEN):
            finished()
        return shortest_times(finished)[0]
    except torch.OutOfMemoryError:
        return math.inf


def shortest_times(*calls: Callable[[], object]) -> list[float]:
    """Seconds that each call takes when nothing disturbs it, taken in turns after a first call."""
    for call in calls:
        call()
    end, best = time.perf_counter() + MOST_SECONDS, [math.inf] * len(calls)
    for _ in range(REPETITIONS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return best
