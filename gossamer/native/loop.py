"""Steps of stacked runs in C: what the simulator calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.native.agreement import agrees
from gossamer.native.build import compiler, function, register_bytes
from gossamer.native.expressions import Unsupported
from gossamer.native.source import Source, source
from gossamer.native.threads import in_threads
from gossamer.native.trace import OneRun
from gossamer.networks import Mixer
from gossamer.noise import Noise
from gossamer.problems import Problem

SCRATCH_BYTES = 2**20
"""Most bytes that the arrays of a step may take: what a core's cache holds."""

PARTS_EACH = 4
"""Parts of the runs for each thread, so that one which has to share its core can do fewer."""


def native_loop(
    algorithm: Algorithm[Any],
    names: Sequence[str],
    problem: Problem,
    noise: Noise | None,
    mixer: Mixer,
    runs: int,
) -> NativeLoop | None:
    """The loop of a method on a problem, or None where it cannot be had.

    Before it is used, a few steps of it are compared with the steps as they are written.
    """
    if compiler() is None:
        return None
    try:
        loop = NativeLoop.of(OneRun.of(algorithm, names, problem, noise, mixer), runs)
        return loop if agrees(loop, runs) else None
    except Exception:  # whatever a tracer or a compiler cannot do, the step as it is written can
        return None


@dataclass(frozen=True)
class NativeLoop:
    """Many steps of many runs in one call.

    Runs are taken R at a time, and every one of the R is computed for itself: a run takes the same
    steps whatever else is stacked.
    """

    one: OneRun
    program: Source

    width: int
    """R: as many as a register holds; 1 where a single run is all there is."""

    run: Callable[..., int]

    @classmethod
    def of(cls, one: OneRun, runs: int) -> NativeLoop:
        """For that many runs in all; refused where it is no gain or the compiler fails.

        What is recorded twice, from different numbers, and is not the same program has been told
        more than its arguments.
        """
        width = 1 if runs == 1 else register_bytes() // one.problem.start.element_size()
        _require_cache(width * one.problem.num_nodes * one.problem.start.nbytes)  # x alone
        program = source(one, 0)
        _require_cache(width * program.scratch)
        if not program.same_as(source(one, 1)):
            raise Unsupported("a step that depends on more than its arguments")
        run = function(program.text, width)
        if run is None:
            raise Unsupported("what the compiler does not take")
        return cls(one, program, width, run)

    def advance(
        self,
        t: int,
        methods: Sequence[Algorithm[Any]],
        x: Tensor,
        state: Any,
        samples: Tensor | None,
        place: Tensor | None,
        threads: int = 1,
    ) -> tuple[Tensor, Any]:
        """From step `t` on, one step with each of the methods: x and state thereafter.

        Args:
            t: the step to come.
            methods: of every step.
            x: `(nodes, runs, dim)`.
            state: of the method, its fields `(nodes, runs, …)`.
            samples: of the noise, `(steps, nodes, seeds, dim)`.
            place: which seed a run has, `(runs,)`.
            threads: that share the runs.
        """
        lanes = Lanes(self.width, x.shape[1])
        held = [lanes.side_by_side(z) for z in (x, *state)]
        numbers = lanes.side_by_side(self._numbers(methods, x))
        samples = x.new_zeros(0, 0, 0, 0) if samples is None else samples.contiguous()
        place = lanes.filled if place is None else place[lanes.filled]
        tensors = [samples, place, numbers, *held, *self.program.constants]
        pointers = (ctypes.c_void_p * len(tensors))(*(z.data_ptr() for z in tensors))
        seeds, scheduled = samples.shape[2], numbers.shape[1] > 1

        def take(first: int, last: int) -> None:
            sizes = (ctypes.c_long * 5)(len(methods), first, last, seeds, scheduled)
            if not self.run(sizes, float(t), pointers):
                raise MemoryError("no memory for the arrays of a step")

        in_threads(take, len(held[0]), threads, PARTS_EACH)
        after = [lanes.stacked(z) for z in held]
        return after[0], type(state)(*after[1:])

    def _numbers(self, methods: Sequence[Algorithm[Any]], x: Tensor) -> Tensor:
        """`(steps, runs, names)`; one step stands for all where nothing changes."""
        same = all(method is methods[0] for method in methods)
        asked = methods[:1] if same else methods
        made = x.new_empty(len(asked), x.shape[1], len(self.one.names))
        for k, name in enumerate(self.one.names):
            made[..., k] = _column([getattr(method, name) for method in asked], x)
        return made


def _column(values: Sequence[Any], x: Tensor) -> Tensor:
    """A number of every step, `(steps, runs or 1)`: all at once, for steps are short."""
    if any(isinstance(value, Tensor) for value in values):
        return torch.stack([torch.as_tensor(value, dtype=x.dtype).view(-1) for value in values])
    return torch.tensor(values, dtype=x.dtype)[:, None]


def _require_cache(size: int) -> None:
    if size > SCRATCH_BYTES:
        raise Unsupported("a step of arrays that no core's cache holds")


@dataclass(frozen=True)
class Lanes:
    """R runs side by side, the last run again where one is missing."""

    width: int
    """R."""

    runs: int

    @property
    def blocks(self) -> int:
        """How many times R."""
        return -(-self.runs // self.width)

    @property
    def filled(self) -> Tensor:
        """Which run is where."""
        return torch.arange(self.blocks * self.width).clamp(max=self.runs - 1)

    def side_by_side(self, z: Tensor) -> Tensor:
        """`(rows, runs, k)` → `(blocks, rows, k, R)`."""
        whole = z if self.runs % self.width == 0 else z[:, self.filled]
        blocks = whole.reshape(len(z), self.blocks, self.width, z.shape[2])
        return blocks.permute(1, 0, 3, 2).clone(memory_format=torch.contiguous_format)

    def stacked(self, blocks: Tensor) -> Tensor:
        """Back again."""
        rows, k = blocks.shape[1:3]
        whole = blocks.permute(1, 0, 3, 2).reshape(rows, self.blocks * self.width, k)
        return whole[:, : self.runs].contiguous()
