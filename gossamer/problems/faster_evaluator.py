"""The faster of two ways to evaluate all copies of a model, found by a short measurement."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from gossamer.data.moving import Device
from gossamer.problems.evaluator import Evaluator

TIMED_NODES = 2
"""Nodes whose copies are evaluated one after the other to learn how long all would take."""

REPETITIONS, MOST_SECONDS = 7, 0.3
"""How often both ways are timed, unless that takes longer."""

Given = tuple[Tensor, Tensor, Tensor, int, Sequence[int]]
"""x, inputs, targets, step and seeds of a gradient."""


class FasterEvaluator:
    """At once or one after the other, whichever a CPU does faster; elsewhere at once.

    Small products are faster at once and convolutions one after the other; where the line is
    depends on the machine. Both ways give the same gradients up to rounding. The way is chosen at
    the first gradient, once for a device and precision, and kept.

    Args:
        at_once: evaluates all copies together.
        in_turn: one copy after the other.
    """

    def __init__(self, at_once: Evaluator, in_turn: Evaluator) -> None:
        self._at_once, self._in_turn = at_once, in_turn

    @cached_property
    def _chosen(self) -> dict[tuple[torch.device, torch.dtype], str]:
        """Says nothing about the problem, so that a fingerprint must not see it."""
        return {}

    @property
    def way(self) -> str:
        """What was chosen: "vmap", "loop" or, before the first gradient, "not measured yet"."""
        return ", ".join(dict.fromkeys(self._chosen.values())) or "not measured yet"

    def losses(self, points: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss at every point on the same samples: `(points, dim)` → `(points,)`."""
        return self._at_once.losses(points, inputs, targets)

    def gradients(
        self, x: Tensor, inputs: Tensor, targets: Tensor, t: int, seeds: Sequence[int]
    ) -> Tensor:
        """∇ of the loss of every node and run on its own batch: `(nodes, runs, dim)` → the same."""
        given, place = (x, inputs, targets, t, seeds), (x.device, x.dtype)
        if place not in self._chosen:
            self._chosen[place] = self._faster(given)
        way = self._at_once if self._chosen[place] == "vmap" else self._in_turn
        return way.gradients(*given)

    def _faster(self, given: Given) -> str:
        """Found by evaluating both, all nodes at once and a few one after the other."""
        x, inputs, targets, t, seeds = given
        if x.device.type != "cpu":
            return "vmap"
        n = min(TIMED_NODES, len(x))
        few = (x[:n], inputs[:n], targets[:n], t, seeds)
        at_once, in_turn = shortest_times(
            lambda: self._at_once.gradients(*given), lambda: self._in_turn.gradients(*few)
        )
        return "vmap" if at_once <= in_turn * len(x) / n else "loop"

    def to(self, device: Device, dtype: torch.dtype) -> Self:
        """The same on another device, in another precision; what is chosen there is known here."""
        known = self._chosen
        moved = copy.copy(self)
        moved._chosen = known
        moved._at_once = self._at_once.to(device, dtype)
        moved._in_turn = self._in_turn.to(device, dtype)
        return moved


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
