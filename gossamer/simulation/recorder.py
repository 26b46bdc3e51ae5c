"""From step 0 to T: advance stacks that fit the machine, and record their metrics."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, state_dtype
from gossamer.progress import progress as progress_bar
from gossamer.seeding import SeedGroups
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import Metric, choose_metrics
from gossamer.simulation.simulation import Simulation
from gossamer.simulation.stack import Stack
from gossamer.simulation.threads import threads_for
from gossamer.simulation.traffic import Traffic, mixed_widths


class Recorder:
    """The records of all runs, filled stack by stack; ∞ and NaN where a run has ended.

    Args:
        simulation: what runs.
        seeds: of every run.
        metrics: what is measured of a stack.
        widths: how many numbers each mix of a step carries.
        gradients: how many a node evaluates in a step.
    """

    def __init__(
        self,
        simulation: Simulation,
        seeds: Sequence[int],
        metrics: Mapping[str, Metric],
        widths: Sequence[int],
        gradients: int,
    ) -> None:
        num_runs = len(seeds)
        self._times, self._measures = simulation.record_steps, metrics
        self._rows = {t: row for row, t in enumerate(self._times)}
        nodes, dim = simulation.problem.num_nodes, simulation.problem.dim
        kept = dim if simulation.keep_x else 0
        self.steps = torch.tensor(self._times)
        dtype, shape = state_dtype(simulation.dtype), (len(self._times), num_runs)
        self.metrics = {name: torch.full(shape, torch.inf, dtype=dtype) for name in metrics}
        self._groups = SeedGroups.of(seeds)
        traffic = Traffic(simulation.network, self._groups.distinct, widths, dtype)
        self._costs = costs(simulation, traffic, gradients)
        for name, by_seed in self._costs.items():
            self.metrics[name] = torch.full(shape, torch.inf, dtype=by_seed.dtype)
        self.x = torch.full((nodes, num_runs, kept), torch.nan, dtype=dtype)
        self.diverged_at = torch.full((num_runs,), -1)
        self.steps_taken = torch.zeros(num_runs, dtype=torch.int64)

    def follow(self, stack: Stack, ids: Tensor, end: int, advance: Callable[[int], None]) -> None:
        """Advance the stack to step `end`, recording on the way; `ids` names its runs here."""
        for target in [*(t for t in self._times if stack.t <= t < end), end]:
            advance(len(ids) * (target - stack.t))
            stack.advance(target - stack.t)
            if target in self._rows and len(stack.runs) > 0:
                with threads_for(stack.x):
                    self._measure(stack, self._rows[target], ids[stack.runs.cpu()])
        going_on, diverged_at = ids[stack.runs.cpu()], stack.diverged_at.cpu()
        self.diverged_at[ids] = diverged_at
        self.steps_taken[ids] = torch.maximum(self.steps_taken[ids], diverged_at)
        self.steps_taken[going_on] = end
        self.x[:, ids] = torch.nan
        self.x[:, going_on] = stack.x[..., : self.x.shape[-1]].cpu()

    def _measure(self, stack: Stack, row: int, ids: Tensor) -> None:
        for name, measure in self._measures.items():
            self.metrics[name][row, ids] = measure(stack).to(self.metrics[name])
        for name, by_seed in self._costs.items():
            self.metrics[name][row, ids] = by_seed[row, self._groups.place[ids]]

    def survivors(self, halving: Halving, end: int, settings: int) -> Tensor:
        """Which runs go on after the rung at step `end`, judged by the first metric."""
        times = self.steps[self.steps <= end]
        name, judge = next(iter(self._measures.items()))
        history = self.metrics[name][: len(times)].unflatten(1, (settings, -1))
        going_on = halving.survivors(history, times, self._times[-1], judge.vanishes)
        return going_on.repeat_interleave(history.shape[2])


def costs(simulation: Simulation, traffic: Traffic, gradients: int) -> dict[str, Tensor]:
    """What has been spent at every record, `(records, seeds)` in float64; see `COSTS`."""
    times, clock = simulation.record_steps, simulation.clock
    evaluated = torch.tensor(times, dtype=torch.float64)[:, None] * gradients
    found = {"gradients": evaluated.expand(-1, len(traffic.seeds)), **traffic.totals_at(times)}
    return found if clock is None else found | {"seconds": clock.seconds_at(traffic, times)}


@torch.no_grad()
def record(
    simulation: Simulation,
    algorithm: Algorithm[Any],
    seeds: list[int],
    *,
    settings: int = 1,
    halving: Halving | None = None,
) -> Recorder:
    """Run `algorithm`, run r with `seeds[r]`, in stacks that fit.

    The runs come setting by setting, as many for each; `halving` ends some settings early.
    """
    stacks: Iterable[tuple[Tensor, Stack]] = simulation.stacks(algorithm, seeds)
    first = next(iter(stacks))
    metrics = choose_metrics(simulation.metrics, first[1])
    widths = mixed_widths(first[1])
    recorder = Recorder(simulation, seeds, metrics, widths, algorithm.gradients_per_step)
    stacks = itertools.chain([first], stacks)
    del first  # a stack that has been followed makes room for the next
    rungs = [] if halving is None else halving.rungs(simulation.steps)
    if rungs:
        stacks = list(stacks)  # all must reach a rung before any is judged
    bar = progress_bar(type(algorithm).label, len(seeds) * simulation.steps, simulation.progress)
    with bar as advance:
        for end in [*rungs, simulation.steps]:
            for ids, stack in stacks:
                recorder.follow(stack, ids, end, advance)
            if halving is not None and end < simulation.steps:
                going_on = recorder.survivors(halving, end, settings)
                for ids, stack in stacks:
                    stack.keep(going_on[ids[stack.runs.cpu()]].to(stack.x.device))
    return recorder
