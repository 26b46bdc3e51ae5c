"""From step 0 to T: advance stacks that fit the machine, and record their metrics."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from gossamer.algorithms import state_dtype
from gossamer.seeding import SeedGroups
from gossamer.simulation.block import Piece
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import Metric
from gossamer.simulation.simulation import Simulation
from gossamer.simulation.traffic import Traffic


class Recorder:
    """The records of all runs, filled piece by piece; ∞ and NaN where a run has ended.

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
        self.in_c = simulation.native is not None
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

    def take(self, ids: Tensor, piece: Piece, until: int) -> None:
        """Enter what came of the runs `ids` up to step `until`."""
        asked = [(k, t) for k, t in enumerate(piece.steps) if t in self._rows and t <= until]
        there = [k for k, _ in asked]
        times = torch.tensor([t for _, t in asked], dtype=torch.int64)
        rows = torch.tensor([self._rows[t] for _, t in asked], dtype=torch.int64)[:, None]
        for name in self._measures:
            self.metrics[name][rows, ids] = piece.metrics[name][there]
        ended = torch.where(piece.diverged_at > until, -1, piece.diverged_at)
        finite = (ended < 0) | (times[:, None] < ended)
        for name, by_seed in self._costs.items():
            spent = by_seed[rows, self._groups.place[ids]]
            self.metrics[name][rows, ids] = torch.where(finite, spent, torch.inf)
        self.diverged_at[ids] = ended
        self.steps_taken[ids] = torch.where(ended < 0, min(piece.end, until), ended)
        if piece.end == until == self._times[-1] and piece.checkpoint is not None:
            self.x[:, ids[piece.going_on]] = piece.checkpoint.x[..., : self.x.shape[-1]].to(self.x)

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
    if clock is None:
        return found
    return found | {"seconds": clock.seconds_at(traffic, times, gradients)}
