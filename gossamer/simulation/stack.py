"""The one loop: n nodes × many runs, advanced together."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.memory import keep_freed_memory
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.noise_stream import MAX_BLOCK_STEPS, NoiseStream, block_steps
from gossamer.simulation.step import CompiledStep, compiles, numbers_as_tensors
from gossamer.simulation.threads import threads_for


class Stack:
    """Runs of one method on one problem and network, stacked as `(nodes, runs, dim)`.

    Runs differ in their seed and in the method's hyper-parameters, tensors of shape `(runs, 1)`.
    No run sees another: a run in a stack takes the same steps as the same run alone. Runs that
    become non-finite leave the stack; `runs` names those still in it.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        problem: Problem,
        network: Network,
        noise: Noise | None,
        seeds: Sequence[int],
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        nodes = f"{network.num_nodes} nodes where the problem has {problem.num_nodes}"
        require(network.num_nodes == problem.num_nodes, "network", nodes, "the same number")
        keep_freed_memory()
        self.problem, self.network = problem.to(device, dtype), network
        self.t = 0
        self.diverged_at = torch.full((len(seeds),), -1, device=device)
        self._all_seeds = list(seeds)
        self._all_algorithms = algorithm.stacked(len(seeds), dtype, device)
        self._step: Any = type(algorithm).step
        if compiles(device):
            self._all_algorithms = numbers_as_tensors(self._all_algorithms, dtype, device)
            self._step = CompiledStep(type(algorithm), dtype, device)
        self._mixers = [network.at(t).mixer(dtype, device) for t in range(network.period)]
        quiet, noisy = MAX_BLOCK_STEPS, block_steps(problem.num_nodes, problem.dim)
        self._block = quiet if noise is None else noisy  # a block of noise can be replayed
        self._unique_seeds = list(dict.fromkeys(seeds))
        self._noise: NoiseStream | None = None
        if noise is not None:
            sizes = problem.num_nodes, problem.dim
            self._noise = NoiseStream(noise, self._unique_seeds, *sizes, dtype, device)
        given, one_for_all = tuple(problem.start.shape), (problem.dim,)
        require(given == one_for_all, "start", f"shape {given}", f"shape {one_for_all}")
        shape = (problem.num_nodes, len(seeds), problem.dim)
        x = self.problem.start.expand(shape).contiguous()
        state = algorithm.init(x)
        _require_state(state, x)
        self._hold(torch.arange(len(seeds), device=device), x, state)

    def advance(self, steps: int) -> None:
        """Take `steps` steps; runs that became non-finite are marked and leave."""
        end = self.t + steps
        while self.t < end and len(self.runs) > 0:
            before = (self.t, self.x, self.state)
            with threads_for(self.x.numel()):
                self._step_to(min(end, self.t + self._block - self.t % self._block))
            finite = self._finite()
            if not finite.all():
                self._remove_diverged(before, finite)
        self.t = end

    def keep(self, mask: Tensor) -> None:
        """Go on with the runs that the boolean `mask`, `(runs,)`, selects."""
        self._hold(self.runs[mask], self.x[:, mask], _select_runs(self.state, mask))

    def _hold(self, runs: Tensor, x: Tensor, state: Any) -> None:
        """Make `runs`, at `x` and `state`, the content of the stack."""
        self.runs, self.x, self.state = runs, x, state
        self.seeds = [self._all_seeds[run] for run in runs.tolist()]
        self.algorithm = self._all_algorithms.select(runs)
        place = {seed: index for index, seed in enumerate(self._unique_seeds)}
        seed_index = torch.tensor([place[seed] for seed in self.seeds], device=runs.device)
        in_turn = torch.arange(len(runs), device=runs.device) % len(place)
        whole_turns = len(runs) % len(place) == 0
        self._seeds_in_turn = whole_turns and torch.equal(seed_index, in_turn)
        nodes = torch.arange(self.problem.num_nodes, device=runs.device)[:, None]
        self._noise_rows = (nodes * len(place) + seed_index).flatten()

    def _step_to(self, end: int) -> None:
        while self.t < end:
            grad = self.problem.sample_grad(self.x, self.t, self.seeds)
            if grad.shape != self.x.shape:  # broadcasting would hide it
                self._refuse(grad)
            if self._noise is not None:
                grad = self._add_noise(grad, self._noise.at(self.t))
            mix = self._mixers[self.t % len(self._mixers)]
            given = (self.algorithm, self.t, self.x, grad, self.state, mix)
            self.x, self.state = self._step(*given)
            self.t += 1

    def _refuse(self, grad: Tensor) -> None:
        found = f"shape {tuple(grad.shape)} at points of shape {tuple(self.x.shape)}"
        require(False, "local_grad", found, "one gradient per point, the same shape")

    def _add_noise(self, grad: Tensor, noise: Tensor) -> Tensor:
        """Each run gets the noise of its seed, of `(nodes, seeds, dim)`."""
        if not self._seeds_in_turn:
            rows = noise.reshape(-1, noise.shape[-1])  # gathering whole rows is ten times faster
            return grad + rows.index_select(0, self._noise_rows).view(grad.shape)
        if grad.shape == noise.shape:
            return grad + noise
        nodes, seeds, dim = noise.shape
        return (grad.view(nodes, -1, seeds, dim) + noise[:, None]).view(grad.shape)

    def _finite(self) -> Tensor:
        return self.x.isfinite().all(dim=2).all(dim=0)

    def _remove_diverged(self, before: tuple[int, Tensor, Any], finite: Tensor) -> None:
        """Replay the last block for the runs that broke in it, to learn the step of each."""
        runs, (t, x, state) = self.runs, (self.t, self.x, self.state)
        self.t = before[0]
        self._hold(runs[~finite], before[1][:, ~finite], _select_runs(before[2], ~finite))
        while self.t < t:
            self._step_to(self.t + 1)
            self._mark_diverged(~self._finite())
        self._mark_diverged(torch.ones_like(self.runs, dtype=torch.bool))  # rounding may differ
        self._hold(runs[finite], x[:, finite], _select_runs(state, finite))

    def _mark_diverged(self, broken: Tensor) -> None:
        first_time = self.runs[broken & (self.diverged_at[self.runs] < 0)]
        self.diverged_at[first_time] = self.t


def _require_state(state: Any, x: Tensor) -> None:
    """What both engines can take apart: runs are selected, and buffers saved, field by field."""
    fields = state if hasattr(state, "_fields") else [None]
    like_x = all(getattr(field, "shape", ())[:2] == x.shape[:2] for field in fields)
    found, need = f"a state of type {type(state).__name__}", "a NamedTuple of tensors like x"
    require(like_x, "init", found, need, "a method without memory returns Stateless()")


def _select_runs(state: Any, mask: Tensor) -> Any:
    return type(state)(*(field[:, mask] for field in state))
