"""From step 0 to T: advance stacks that fit the machine, and record their metrics."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.progress import progress as progress_bar
from gossamer.simulation.metrics import METRICS
from gossamer.simulation.run import Run, as_json
from gossamer.simulation.setting import Setting
from gossamer.simulation.stack import Stack


class Prune(Protocol):
    """A rule that ends runs early."""

    def rungs(self, steps: int) -> Sequence[int]:
        """The steps at which runs may be ended, of a simulation of `steps` steps."""
        ...

    def survivors(self, history: Tensor, times: Tensor, steps: int) -> Tensor:
        """Which runs go on, `(runs,)`, given the metric's records so far, `(records, runs)`."""
        ...


class Recorder:
    """The records of all runs, filled stack by stack; ∞ and NaN where a run has ended."""

    def __init__(self, setting: Setting, num_runs: int) -> None:
        self._times = setting.record_steps
        self._rows = {t: row for row, t in enumerate(self._times)}
        like: dict[str, Any] = {"dtype": setting.dtype, "device": setting.device}
        shape, dim = (len(self._times), num_runs), setting.problem.dim if setting.keep_x else 0
        self.metrics = {name: torch.full(shape, torch.inf, **like) for name in setting.metrics}
        self.x = torch.full((setting.problem.num_nodes, num_runs, dim), torch.nan, **like)
        self.diverged_at = torch.full((num_runs,), -1, device=setting.device)
        self.steps_taken = torch.zeros(num_runs, dtype=torch.int64, device=setting.device)

    def follow(self, stack: Stack, ids: Tensor, end: int, advance: Callable[[int], None]) -> None:
        """Advance the stack to step `end`, recording on the way; `ids` names its runs here."""
        for target in [*(t for t in self._times if stack.t <= t < end), end]:
            advance(len(ids) * (target - stack.t))
            stack.advance(target - stack.t)
            if target in self._rows:
                for name, values in self.metrics.items():
                    values[self._rows[target], ids[stack.runs]] = METRICS[name](stack)
        self.diverged_at[ids] = stack.diverged_at
        self.steps_taken[ids] = torch.maximum(self.steps_taken[ids], stack.diverged_at)
        self.steps_taken[ids[stack.runs]] = end
        self.x[:, ids] = torch.nan
        self.x[:, ids[stack.runs]] = stack.x[..., : self.x.shape[-1]]


@torch.no_grad()
def record(
    setting: Setting,
    algorithm: Algorithm[Any],
    seeds: list[int],
    config: dict[str, Any],
    prune: Prune | None = None,
) -> Run:
    """Run `algorithm`, run r with `seeds[r]`, in stacks that fit; `prune` may end runs early."""
    algorithm = algorithm.stacked(len(seeds), setting.dtype, setting.device)
    config = as_json({**config, **setting.describe(), "seeds": seeds})
    setting = setting.placed()
    setting.require_metrics_of(algorithm)
    recorder = Recorder(setting, len(seeds))
    rungs = [] if prune is None else list(prune.rungs(setting.steps))
    stacks: Iterable[tuple[Tensor, Stack]] = _stacks(setting, algorithm, seeds)
    if rungs:
        stacks = list(stacks)  # all must reach a rung before any is judged
    with progress_bar("simulating", len(seeds) * setting.steps, setting.progress) as advance:
        for end in [*rungs, setting.steps]:
            for ids, stack in stacks:
                recorder.follow(stack, ids, end, advance)
            if prune is not None and end < setting.steps:
                _end_early(recorder, setting, prune, end, stacks)
    return Run(
        steps=torch.tensor(setting.record_steps),
        metrics={name: values.cpu() for name, values in recorder.metrics.items()},
        diverged_at=recorder.diverged_at.cpu(),
        steps_taken=recorder.steps_taken.cpu(),
        x=recorder.x.cpu(),
        config=config,
    )


def _stacks(
    setting: Setting, algorithm: Algorithm[Any], seeds: list[int]
) -> Iterable[tuple[Tensor, Stack]]:
    for ids in torch.arange(len(seeds), device=setting.device).split(setting.runs_at_once):
        own_seeds = [seeds[i] for i in ids.tolist()]
        yield ids, setting.stack(algorithm.select(ids), own_seeds)


def _end_early(
    recorder: Recorder,
    setting: Setting,
    prune: Prune,
    end: int,
    stacks: Iterable[tuple[Tensor, Stack]],
) -> None:
    """Keep the survivors of the rung at step `end` in every stack."""
    times = torch.tensor([t for t in setting.record_steps if t <= end])
    history = recorder.metrics[setting.metrics[0]][: len(times)]
    survivors = prune.survivors(history, times, setting.steps)
    for ids, stack in stacks:
        stack.keep(survivors[ids[stack.runs]])
