"""Everything of a simulation but the method: where it runs, for how long, what is recorded."""

import dataclasses
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsIndex, TypeVar

import torch

from gossamer.algorithms import Algorithm, state_dtype
from gossamer.devices import require_device
from gossamer.errors import InvalidInput, require, whole
from gossamer.kinds import require_kind, require_network, require_problem
from gossamer.native import NativeLoop, native_loop
from gossamer.networks import Network, StaticNetwork
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.provenance import versions
from gossamer.simulation.checkpoint import Checkpoint
from gossamer.simulation.clock import Clock
from gossamer.simulation.metrics import Measure, metric_name
from gossamer.simulation.stack import Stack
from gossamer.simulation.step import numeric

T = TypeVar("T")

STACK_BYTES = {"cpu": 3 * 2**19, "accelerator": 2**29}
"""Size of a tensor of the largest stack: what stays in a CPU's cache, or fills a GPU."""

STEP_SECONDS, NUMBER_SECONDS = 1.2e-4, 2e-8
"""What a step takes as it is written, on one core: for its operations, and for each number."""

COMPILE_SECONDS = 2.0
"""What tracing a step and compiling it take at most, on a machine that does nothing else."""

LANES = 96
"""Columns of a stack that CPUs treat alike, measured on AMD's and Intel's with MKL."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Simulation:
    """A simulation without its method."""

    problem: Problem
    network: Network
    noise: Noise | None = None
    steps: int
    record_every: int | None = None
    """k of the records at steps 0, k, 2k, …; None is the largest power of two that makes at least
    100 of them, so that the records of a longer run are among those of a shorter one.
    """

    metrics: Sequence[str | Measure] | None = None
    """What to record, the first to judge by; None is all that exist."""

    clock: Clock | None = None
    """What tells seconds, if anything does."""

    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"
    progress: bool | None = None
    keep_x: bool = True

    alike: bool = False
    """Whether a run must be the same bits whatever else is stacked, as in a store."""

    native: NativeLoop | None = None
    """The steps in C, if they are to be taken there."""

    def __post_init__(self) -> None:
        require_problem(self.problem)
        require_network(self.network)
        require_kind("noise", self.noise, Noise | None, "gs.StudentT(1.5), or None")
        object.__setattr__(self, "steps", whole("steps", self.steps, 1))
        if self.record_every is not None:
            every = whole("record_every", self.record_every, 1)
            object.__setattr__(self, "record_every", every)
        object.__setattr__(self, "metrics", as_list("metrics", self.metrics))
        example = "gs.Clock(latency=1e-3, bandwidth=1e9, gradient=0.02)"
        require_kind("clock", self.clock, Clock | None, f"{example}, or None")
        asked = "seconds" in map(metric_name, self.metrics or [])
        timed, way_out = self.clock is not None or not asked, f"e.g. clock={example}"
        require(timed, "metrics", "'seconds' without a clock", "a model of time", way_out)
        real = isinstance(self.dtype, torch.dtype) and self.dtype.is_floating_point
        require(real, "dtype", repr(self.dtype), "a floating-point one", "e.g. torch.float32")
        require_device(self.device)

    @property
    def interval(self) -> int:
        """k, with its default filled in."""
        if self.record_every is not None:
            return self.record_every
        return 2 ** max(0, (self.steps // 100).bit_length() - 1)

    @property
    def record_steps(self) -> list[int]:
        """0, k, 2k, … and always the last step."""
        return sorted({*range(0, self.steps, self.interval), self.steps})

    @property
    def runs_at_once(self) -> int:
        """How many runs a stack may hold."""
        itemsize = torch.empty(0, dtype=self.dtype).element_size()
        run_bytes = self.problem.num_nodes * self.problem.dim * itemsize
        kind = "cpu" if torch.device(self.device).type == "cpu" else "accelerator"
        return max(1, STACK_BYTES[kind] // run_bytes)

    @property
    def lanes(self) -> int:
        """Stacks hold a multiple of this: where runs must not depend on what else is stacked."""
        return LANES if self._same_bits and self.runs_at_once >= LANES else 1

    @property
    def stack_width(self) -> int:
        """How many runs are stacked; where they must be the same bits, one if few would fit."""
        width, lanes = self.runs_at_once, self.lanes
        return width - width % lanes if lanes > 1 or not self._same_bits else 1

    @property
    def moved(self) -> Self:
        """The same with the problem where it runs, in its precision: once for all stacks."""
        problem = self.problem.to(self.device, self.dtype).expecting(self.steps)
        return dataclasses.replace(self, problem=problem.untimed() if self._same_bits else problem)

    @property
    def _same_bits(self) -> bool:
        """Whether runs must be, and can be, the same bits: a GPU sums in no fixed order."""
        return self.alike and torch.device(self.device).type == "cpu"

    def stack(
        self, algorithm: Algorithm[Any], seeds: Sequence[int], begin: Checkpoint | None = None
    ) -> Stack:
        """The runs of one stack, at the start or where they were."""
        where = (self.problem, self.network, self.noise)
        how = (self.dtype, self.device)
        lanes, native = self.lanes, self.native
        return Stack(algorithm, *where, seeds, *how, begin=begin, lanes=lanes, native=native)

    def in_c(self, algorithm: Algorithm[Any], runs: int) -> Self:
        """The same, with steps in C where that is possible and worth it.

        Nothing of a step may be drawn but the noise, and nothing lost on the way. Whether it is
        worth it depends on the work alone, so that the same call gives the same bits on a machine;
        recording after every step would copy as much as is saved.
        """
        problem, network = self.problem, self.network
        numbers = runs * problem.num_nodes * problem.dim
        long = self.steps * (STEP_SECONDS + numbers * NUMBER_SECONDS) > COMPILE_SECONDS
        kept = state_dtype(self.dtype) == self.dtype and torch.device(self.device).type == "cpu"
        asks = algorithm.asks_local and not algorithm.asks_shapes_only
        plain = type(network) is StaticNetwork and problem.exact and not asks
        if self.alike or self.interval == 1 or not (long and kept and plain):
            return self
        assert isinstance(network, StaticNetwork)  # one that mixes as it does
        mixer, names = network.mixer(self.dtype, "cpu"), numeric(type(algorithm))
        loop = native_loop(algorithm, names, problem, self.noise, mixer, runs)
        return dataclasses.replace(self, native=loop)

    def describe(self) -> dict[str, Any]:
        """All but the method and the names of the metrics, as plain JSON."""
        return {
            "problem": self.problem.describe(),
            "network": self.network.describe(),
            "noise": None if self.noise is None else self.noise.describe(),
            "clock": None if self.clock is None else self.clock.describe(),
            "steps": self.steps,
            "record_every": self.interval,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": str(self.device),
            "versions": versions(),
        }


def as_list(name: str, value: Iterable[T] | None) -> list[T] | None:
    """A list that may be read more than once, None as it is; one thing alone is refused."""
    if value is None:
        return None
    several = isinstance(value, Iterable) and not isinstance(value, str)
    require(several, name, repr(value), "a list", f"write [{value!r}]")
    return list(value)


def list_seeds(seeds: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """One seed or many, as a list of ints; none is refused.

    >>> list_seeds(3), list_seeds(range(3))
    ([3], [0, 1, 2])
    """
    listed = list(seeds) if isinstance(seeds, Iterable) else [seeds]
    require(len(listed) > 0, "seeds", listed, "at least one integer")
    try:
        return [operator.index(seed) for seed in listed]
    except TypeError:
        raise InvalidInput(f"seeds: got {listed}, need integers, e.g. range(5)") from None
