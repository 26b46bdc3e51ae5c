"""From step 0 to T: all runs of a simulation, here or on an executor, stored or not."""

import gc
import math
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple
from uuid import uuid4

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import InvalidInput
from gossamer.executors import spread, worker_count
from gossamer.progress import is_shown
from gossamer.progress import progress as progress_bar
from gossamer.simulation.block import Block, Piece, advance, advance_apart
from gossamer.simulation.halving import Halving
from gossamer.simulation.leg import Leg, restacked
from gossamer.simulation.live import Live
from gossamer.simulation.metrics import Metric, choose_metrics
from gossamer.simulation.recorder import Recorder
from gossamer.simulation.shelf import Shelf
from gossamer.simulation.simulation import Simulation
from gossamer.simulation.store import Store
from gossamer.simulation.traffic import what_a_step_asks

BLOCKS_PER_WORKER = 4
"""Into how many blocks runs are split, if each is worth it, so that none waits long for another."""

TURN = 1.0
"""Seconds after which a worker reports."""


class Recorded(NamedTuple):
    """The argument of `on_record`: the metrics of some runs at one step."""

    algorithm: Algorithm[Any]
    """The method, with the hyper-parameters of these runs."""

    seeds: Sequence[int]
    """The seed of each run."""

    step: int
    """The step at which the metrics were recorded."""

    metrics: Mapping[str, Tensor]
    """Name → one value per run, `(runs,)`; ∞ for runs that have diverged."""


OnRecord = Callable[[Recorded], None]
"""Called whenever metrics are recorded."""


@dataclass(frozen=True)
class Resources:
    """Where runs are computed and kept, and who is told."""

    store: Store | None = None
    executor: Executor | None = None
    on_record: OnRecord | None = None

    call: str = field(default_factory=lambda: uuid4().hex)
    """Of the user's call, in which the problem stays as it is: before the next it may change."""

    @property
    def alike(self) -> bool:
        """Whether a run must be the same bits whatever else is stacked."""
        return self.store is not None or self.executor is not None

    def heard_by(self, another: OnRecord) -> "Resources":
        """The same, with one more who is told of every record."""
        first = self.on_record

        def both(recorded: Recorded) -> None:
            if first is not None:
                first(recorded)
            another(recorded)

        return replace(self, on_record=both)


@torch.no_grad()
def record(
    simulation: Simulation,
    algorithm: Algorithm[Any],
    seeds: Sequence[int],
    resources: Resources,
    *,
    settings: int = 1,
    halving: Halving | None = None,
) -> Recorder:
    """Run `algorithm`, run r with `seeds[r]`, in stacks that fit.

    The runs come setting by setting, as many for each; `halving` ends some settings early.
    """
    algorithm.require_runs(len(seeds))
    moved = simulation.moved.in_c(algorithm, len(seeds))
    with memory_for_one(simulation):
        one = moved.stack(algorithm.select(torch.zeros(1, dtype=torch.int64)), seeds[:1])
        metrics = choose_metrics(simulation.metrics, one)
        asked = what_a_step_asks(one, simulation.steps)
    kind_of_state = type(one.state)
    del one  # its memory is for the runs
    recorder = Recorder(moved, seeds, metrics, asked.widths, asked.gradients)
    rungs = [] if halving is None else halving.rungs(simulation.steps)
    bar = progress_bar(type(algorithm).label, len(seeds) * simulation.steps, simulation.progress)
    opened: AbstractContextManager[Shelf] = nullcontext(Shelf(len(seeds)))
    if resources.store is not None:
        opened = resources.store.open(simulation, algorithm, seeds, metrics, kind_of_state)
    with opened as shelf, bar as advance_bar:
        here = moved if resources.executor is None else simulation  # workers move it themselves
        judge = next(iter(metrics), "")
        live = Live(type(algorithm).label, judge, settings)
        heard = resources.heard_by(live) if judge and is_shown() else resources
        runner = Runner(here, algorithm, seeds, metrics, recorder, shelf, heard, advance_bar)
        going_on = torch.ones(len(seeds), dtype=torch.bool)
        for end in [*rungs, simulation.steps]:
            runner.run_to(end, going_on)
            if halving is not None and end < simulation.steps:
                going_on = recorder.survivors(halving, end, settings) & going_on
    return recorder


@contextmanager
def memory_for_one(simulation: Simulation) -> Iterator[None]:
    """Within, memory that ends is an error of the input: not even one run fits."""
    try:
        yield
    except torch.OutOfMemoryError as reason:
        problem = simulation.problem
        raise InvalidInput(
            f"device: got {simulation.device}, whose memory does not hold one run of "
            f"{problem.num_nodes} nodes with {problem.dim:,} parameters each; take fewer nodes or "
            "smaller batches, or a device with more memory"
        ) from reason


@dataclass
class Runner:
    """All runs of a simulation on their way to its last step."""

    simulation: Simulation
    algorithm: Algorithm[Any]
    seeds: Sequence[int]
    metrics: Mapping[str, Metric]
    recorder: Recorder
    shelf: Shelf
    resources: Resources
    advance_bar: Callable[[int], None]
    legs: list[Leg] = field(default_factory=list)
    counted: int = 0
    """Steps of all runs that the bar was told of."""

    fitting: float = math.inf
    """How many runs memory holds together, as far as is known."""

    def __post_init__(self) -> None:
        self.told_at = torch.full((len(self.seeds),), -1)

    def run_to(self, end: int, going_on: Tensor) -> None:
        """Take the runs that go on to step `end`."""
        for ids, piece in self.shelf.stored(going_on):
            self.recorder.take(ids, piece, end)
        entering, last = self.shelf.enter(going_on, end), end == self.simulation.steps
        legs = restacked(chain(self._onward(going_on), entering), self._width)
        todo = deque(self._block(leg, end) for leg in legs)
        for block, piece in self._results(todo):
            self.recorder.take(block.ids, piece, end)
            self.shelf.keep(block, piece)
            onward = Leg(block.ids[piece.going_on], piece.checkpoint)
            if piece.end < end and len(onward.ids) > 0:
                todo.append(self._block(onward, end))
            elif not last:
                self.legs.append(onward)
            del block, piece, onward  # their memory is for the next
        self._count(end * len(self.seeds) - self.counted)  # of runs that are stored or have ended

    def _onward(self, going_on: Tensor) -> Iterator[Leg]:
        """The runs that go on, leg by leg: what the others held is given up on the way."""
        while self.legs:
            yield self.legs.pop(0).keep(going_on)

    def _results(self, todo: deque[Block]) -> Iterator[tuple[Block, Piece]]:
        """Every block with what came of it, as they are done."""
        if self.resources.executor is not None:
            for block, piece in spread(advance_apart, todo, self.resources.executor):
                self._count(piece.run_steps)
                for row, step in enumerate(piece.steps):
                    self._tell(block, step, {k: v[row] for k, v in piece.metrics.items()})
                yield block, piece
        else:
            while todo:
                yield from self._result(todo.popleft(), todo)

    def _result(self, block: Block, todo: deque[Block]) -> Iterator[tuple[Block, Piece]]:
        """A block with what came of it; if memory does not hold its runs, its parts are to do."""
        done = self._advanced(block) if len(block.ids) <= self._width else None
        if done is None:
            todo.extendleft(reversed(self._split(block)))
        else:
            yield block, done

    def _advanced(self, block: Block) -> Piece | None:
        """What came of a block; None if memory does not hold so many runs together."""
        counted, runs = self.counted, len(block.ids)
        try:
            with memory_for_one(self.simulation) if runs == 1 else nullcontext():
                return advance(block, self._watch(block))
        except torch.OutOfMemoryError:
            self.fitting = runs // 2
        self._count(counted - self.counted)
        advice = f"{self.simulation.device}'s memory does not hold {runs} runs at once"
        warnings.warn(f"{advice}; taking at most {self.fitting} together", stacklevel=2)
        gc.collect()
        torch.cuda.empty_cache()
        return None

    def _split(self, block: Block) -> list[Block]:
        parts = restacked([Leg(block.ids, block.begin)], self._width)
        return [self._block(part, block.end) for part in parts]

    def _watch(self, block: Block) -> Callable[[int, int, Mapping[str, Tensor] | None], None]:
        def watch(run_steps: int, step: int, metrics: Mapping[str, Tensor] | None) -> None:
            self._count(run_steps)
            if metrics is not None:
                self._tell(block, step, metrics)

        return watch

    def _count(self, run_steps: int) -> None:
        self.counted += run_steps
        self.advance_bar(run_steps)

    def _tell(self, block: Block, step: int, metrics: Mapping[str, Tensor]) -> None:
        if self.resources.on_record is None:
            return
        if bool((self.told_at[block.ids] < step).all()):  # not taken again with fewer runs
            self.told_at[block.ids] = step
            self.resources.on_record(Recorded(block.algorithm, block.seeds, step, metrics))

    def _block(self, leg: Leg, end: int) -> Block:
        own = self.algorithm.select(leg.ids)
        seeds = [self.seeds[run] for run in leg.ids.tolist()]
        of = (self.simulation, own, leg.ids, seeds, self.metrics)
        key = f"{self.resources.call} {self.simulation.dtype} {self.simulation.device}"
        return Block(*of, leg.begin, end, self._turn, key)

    @property
    def _turn(self) -> float:
        """Seconds after which a block is handed over, whether it is at its end or not."""
        unstored_on_workers = self.resources.executor is not None and self.resources.store is None
        return TURN if unstored_on_workers else self.shelf.turn

    @property
    def _width(self) -> int:
        """How many runs a block holds."""
        width, lanes = self.simulation.stack_width, self.simulation.lanes
        if self.resources.executor is None:
            return int(min(width, self.fitting))
        if lanes == 1:
            return 1  # a GPU's memory may end there, and a worker does not say how many it holds
        workers = worker_count(self.resources.executor)
        share = math.ceil(len(self.seeds) / (BLOCKS_PER_WORKER * workers if workers > 1 else 1))
        return min(width, share + -share % lanes)
