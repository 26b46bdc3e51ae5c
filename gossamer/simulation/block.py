"""A block of work: stacked runs from one step to another, here or on a worker."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, state_dtype
from gossamer.captured import AS_WRITTEN
from gossamer.problems import Problem
from gossamer.simulation.checkpoint import Checkpoint
from gossamer.simulation.metrics import Metric
from gossamer.simulation.simulation import Simulation
from gossamer.simulation.stack import Stack

GLANCE = 64
"""Steps between looks at the clock."""

SETTLED = AS_WRITTEN + 2
"""Steps after which a stack on a GPU holds all the memory that its steps will ever take."""

_given: dict[str, Problem] = {}
"""The problem that a worker was given last, moved to where it runs, by key."""

_giving = Lock()
"""Held while a problem is looked up or moved: a worker may be a thread."""

Watch = Callable[[int, int, Mapping[str, Tensor] | None], None]
"""Called on the way with how many steps the runs have taken together since the last call, the step
they are at and, if it is recorded, name → the metric of every run."""


@dataclass(frozen=True)
class Block:
    """Runs of one stack that are to be taken to step `end`."""

    simulation: Simulation

    algorithm: Algorithm[Any]
    """Its tensors hold one row per run."""

    ids: Tensor
    """The numbers of the runs in the simulation, `(runs,)`."""

    seeds: Sequence[int]
    """Of every run."""

    metrics: Mapping[str, Metric]
    begin: Checkpoint | None
    end: int

    seconds: float
    """After which the work may stop short of `end`."""

    key: str
    """The same for all blocks of a call of `simulate`, `compare` and so on, in one precision."""

    @property
    def start(self) -> int:
        """The step at which the runs are."""
        return 0 if self.begin is None else self.begin.t


@dataclass(frozen=True)
class Piece:
    """What came of a block: the records on the way, and where the runs are now."""

    start: int

    steps: list[int]
    """Of the records, after `start` and up to where the runs are; with step 0 at the beginning."""

    metrics: Mapping[str, Tensor]
    """Name → `(records, runs)`; ∞ where a run has diverged."""

    diverged_at: Tensor
    """`(runs,)`: −1 where it never happened."""

    end: int
    """The step at which the runs are now."""

    checkpoint: Checkpoint | None
    """Of the runs that are still finite, in their order; None where it is not needed."""

    @property
    def run_steps(self) -> int:
        """Steps taken, summed over the runs."""
        ended = torch.where(self.going_on, self.end, self.diverged_at)
        return int((ended - self.start).sum())

    def select(self, runs: Tensor) -> "Piece":
        """The same for some of the runs, a mask or an index."""
        every = torch.arange(len(self.diverged_at))
        rows = every[runs]
        if torch.equal(rows, every):
            return self
        finite = (self.going_on.cumsum(0) - 1)[rows][self.going_on[rows]]  # those of a checkpoint
        metrics = {name: values[:, rows] for name, values in self.metrics.items()}
        point = None if self.checkpoint is None else self.checkpoint.select(finite)
        return replace(self, metrics=metrics, diverged_at=self.diverged_at[rows], checkpoint=point)

    @property
    def going_on(self) -> Tensor:
        """Which runs are still finite, boolean `(runs,)`."""
        return self.diverged_at < 0


@torch.no_grad()
def advance(block: Block, watch: Watch | None = None) -> Piece:
    """Take the runs of a block further."""
    stack = block.simulation.stack(block.algorithm, block.seeds, block.begin)
    recorded, started = set(block.simulation.record_steps), time.monotonic()
    targets, steps = _targets(block), list[int]()
    table = _table(block, rows=sum(target in recorded for target in targets))
    for target in targets:
        taken, row = stack.count * (target - stack.t), None
        stack.advance(target - stack.t)
        if target in recorded:
            row = {name: values[len(steps)] for name, values in table.items()}
            steps.append(target)
            _measure(stack, block, row)
        elif target == block.start + SETTLED:  # memory that metrics lack is missed now, not after
            _measure(stack, block, _table(block, rows=1))  # an hour
        if watch is not None:
            watch(taken, target, row)
        if stack.t > block.start and time.monotonic() - started > block.seconds:
            break
    metrics = {name: values[: len(steps)].clone() for name, values in table.items()}
    diverged_at = stack.diverged_at.cpu()
    return Piece(block.start, steps, metrics, diverged_at, stack.t, stack.checkpoint())


def advance_apart(block: Block) -> Piece:
    """`advance` on a worker, which keeps the problem of a call, and what it has prepared."""
    simulation = replace(block.simulation, problem=_kept_problem(block))
    piece = advance(replace(block, simulation=simulation))
    assert piece.checkpoint is not None
    return replace(piece, checkpoint=piece.checkpoint.to("cpu"))


def _kept_problem(block: Block) -> Problem:
    with _giving:
        if block.key not in _given:
            _given.clear()  # one at a time
            _given[block.key] = block.simulation.moved.problem
        return _given[block.key]


def _table(block: Block, rows: int) -> dict[str, Tensor]:
    """Name → `(rows, runs)` for a metric, ∞ until it is measured.

    Made at once: small tensors that are made one by one, and stay, would lie in the memory that a
    step frees and needs again, so that no large one fits there any more.
    """
    dtype, shape = state_dtype(block.simulation.dtype), (rows, len(block.seeds))
    return {name: torch.full(shape, torch.inf, dtype=dtype) for name in block.metrics}


def _targets(block: Block) -> list[int]:
    """Where the stack halts: to be measured, and to look at the clock."""
    looks = range(0, block.end, GLANCE) if block.seconds < math.inf else ()
    halts = {*block.simulation.record_steps, *looks, block.end}
    if torch.device(block.simulation.device).type != "cpu":
        halts.add(block.start + SETTLED)
    at_start = {0} if block.begin is None else set()
    return sorted({t for t in halts if block.start < t <= block.end} | at_start)


def _measure(stack: Stack, block: Block, places: Mapping[str, Tensor]) -> None:
    """Put the metrics of the runs that are finite into their places: name → `(…, runs)`."""
    if len(stack.runs) > 0:
        with stack.threads():
            own = stack.runs[: stack.count].cpu()
            for name, measure in block.metrics.items():
                places[name][..., own] = measure(stack)[: stack.count].to(places[name])
