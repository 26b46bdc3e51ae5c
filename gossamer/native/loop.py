"""Steps of stacked runs in C: what the simulator calls."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.native.build import compiler, function, register_bytes
from gossamer.native.source import Source, source
from gossamer.native.trace import OneRun
from gossamer.networks import Mixer
from gossamer.noise import Noise
from gossamer.problems import Problem

SCRATCH_BYTES = 2**20
"""Most bytes that the arrays of a step may take: what a core's cache holds."""


@dataclass(frozen=True)
class NativeLoop:
    """Many steps of many runs in one call.

    Runs are taken R at a time, as many as a register holds, and every one of the R is computed
    for itself: a run takes the same steps whatever else is stacked. A single run is taken alone.
    """

    one: OneRun
    program: Source

    def advance(
        self,
        t: int,
        methods: Sequence[Algorithm[Any]],
        x: Tensor,
        state: Any,
        samples: Tensor | None,
        place: Tensor | None,
    ) -> tuple[Tensor, Any]:
        """From step `t` on, one step with each of the methods: x and state thereafter.

        Args:
            t: the step to come.
            methods: of every step.
            x: `(nodes, runs, dim)`.
            state: of the method, its fields `(nodes, runs, …)`.
            samples: of the noise, `(steps, nodes, seeds, dim)`.
            place: which seed a run has, `(runs,)`.
        """
        lanes = Lanes.of(x)
        held = [lanes.side_by_side(z) for z in (x, *state)]
        numbers = lanes.side_by_side(self._numbers(methods, x))
        samples = x.new_zeros(0, 0, 0, 0) if samples is None else samples.contiguous()
        place = lanes.filled if place is None else place[lanes.filled]
        tensors = [samples, place, numbers, *held, *self.program.constants]
        pointers = (ctypes.c_void_p * len(tensors))(*(z.data_ptr() for z in tensors))
        run = function(self.program.text, lanes.width)
        seeds, scheduled = samples.shape[2], numbers.shape[1] > 1

        def take(first: int, last: int) -> None:
            sizes = (ctypes.c_long * 5)(len(methods), first, last, seeds, scheduled)
            run(sizes, float(t), pointers)

        _in_threads(take, len(held[0]))
        after = [lanes.stacked(z) for z in held]
        return after[0], type(state)(*after[1:])

    def _numbers(self, methods: Sequence[Algorithm[Any]], x: Tensor) -> Tensor:
        """`(steps, runs, names)`; one step stands for all where nothing changes."""
        same = all(method is methods[0] for method in methods)
        rows = [
            [torch.as_tensor(getattr(m, name), dtype=x.dtype).view(-1) for name in self.one.names]
            for m in (methods[:1] if same else methods)
        ]
        made = x.new_empty(len(rows), x.shape[1], len(self.one.names))
        for step, row in enumerate(rows):
            for k, value in enumerate(row):
                made[step, :, k] = value
        return made


@dataclass(frozen=True)
class Lanes:
    """R runs side by side, the last run again where one is missing."""

    width: int
    """R."""

    runs: int

    @classmethod
    def of(cls, x: Tensor) -> Lanes:
        """For stacked runs `(nodes, runs, dim)`."""
        runs = x.shape[1]
        return cls(1 if runs == 1 else register_bytes() // x.element_size(), runs)

    @property
    def filled(self) -> Tensor:
        """Which run is where."""
        return torch.arange(self.runs + -self.runs % self.width).clamp(max=self.runs - 1)

    def side_by_side(self, z: Tensor) -> Tensor:
        """`(rows, runs, k)` → `(blocks, rows, k, R)`."""
        whole = z if self.runs % self.width == 0 else z[:, self.filled]
        blocks = whole.view(len(z), -1, self.width, z.shape[2])
        return blocks.permute(1, 0, 3, 2).clone(memory_format=torch.contiguous_format)

    def stacked(self, blocks: Tensor) -> Tensor:
        """Back again."""
        rows, k = blocks.shape[1:3]
        return blocks.permute(1, 0, 3, 2).reshape(rows, -1, k)[:, : self.runs].contiguous()


def native_loop(
    algorithm: Algorithm[Any],
    names: Sequence[str],
    problem: Problem,
    noise: Noise | None,
    mixer: Mixer,
    runs: int,
) -> NativeLoop | None:
    """The loop of a method on a problem, or None where it cannot be had.

    Before it is used, one step of it is compared with the step as it is written.
    """
    if compiler() is None:
        return None
    x = problem.start.expand(problem.num_nodes, 1, problem.dim).contiguous()
    bare = algorithm.holding({name: x.new_full((1, 1), 0.5) for name in names})
    try:
        one = OneRun(algorithm, names, problem, noise, mixer, bare.init(x))
        program = source(one)
        loop = NativeLoop(one, program)
        fits = program.scratch * Lanes.of(x.expand(-1, runs, -1)).width <= SCRATCH_BYTES
        return loop if fits and _agrees(loop, runs) else None
    except Exception:  # whatever a tracer or a compiler cannot do, the step as it is written can
        return None


def _agrees(loop: NativeLoop, runs: int) -> bool:
    """Whether a step of so many runs, from a random point, is that of the method, up to √ε."""
    one = loop.one
    t, x, *given = one.example()
    state: Any = type(one.state)(*given[: len(one.state)])
    rest = given[len(one.state) :]
    samples = None if one.noise is None else rest.pop(0)[None]
    method = one.algorithm.holding({**dict(zip(one.names, rest, strict=True)), "scheduled": ()})
    few = min(runs, 2)
    place = torch.zeros(few, dtype=torch.int64)
    stacked: Any = type(state)(*(z.expand(-1, few, -1).contiguous() for z in state))
    many = x.expand(-1, few, -1).contiguous()
    found_x, found = loop.advance(int(t), [method], many, stacked, samples, place)
    expected = one.step(*one.example())
    share = torch.finfo(x.dtype).eps ** 0.5
    pairs = zip((found_x, *found), expected, strict=True)
    return all(torch.allclose(a, b, rtol=0, atol=share * float(b.abs().max())) for a, b in pairs)


def _in_threads(take: Any, blocks: int) -> None:
    """All blocks, as many parts at once as torch has threads."""
    threads = min(torch.get_num_threads(), blocks)
    if threads == 1:
        take(0, blocks)
        return
    edges = [blocks * k // threads for k in range(threads + 1)]
    list(_pool(threads).map(take, edges[:-1], edges[1:]))


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, "gossamer-native")
    return _pools[threads]
