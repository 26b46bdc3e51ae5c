"""The one loop: n nodes × many runs, advanced together."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulate.noise_stream import NoiseStream, block_steps


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
        self.problem, self.network = problem.to(dtype, device), network
        self.t = 0
        self.diverged_at = torch.full((len(seeds),), -1, device=device)
        self._all_seeds, self._all_algorithms = list(seeds), algorithm
        self._mixers = [network.at(t).mixer(dtype, device) for t in range(network.period)]
        self._block = block_steps(problem.num_nodes, problem.dim)
        self._unique_seeds = sorted(set(seeds))
        self._noise: NoiseStream | None = None
        if noise is not None:
            sizes = problem.num_nodes, problem.dim
            self._noise = NoiseStream(noise, self._unique_seeds, *sizes, dtype, device)
        shape = (problem.num_nodes, len(seeds), problem.dim)
        x = self.problem.start.expand(shape).contiguous()
        self._hold(torch.arange(len(seeds), device=device), x, algorithm.init(x))

    def advance(self, steps: int) -> None:
        """Take `steps` steps; runs that became non-finite are marked and leave."""
        end = self.t + steps
        while self.t < end and len(self.runs) > 0:
            before = (self.t, self.x, self.state)
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
        seed_index = torch.tensor([self._unique_seeds.index(s) for s in self.seeds])
        nodes = torch.arange(self.problem.num_nodes)[:, None] * len(self._unique_seeds)
        self._noise_index = (nodes + seed_index).flatten().to(runs.device)

    def _step_to(self, end: int) -> None:
        while self.t < end:
            grad = self.problem.sample_grad(self.x, self.t, self.seeds)
            if self._noise is not None:
                noise = self._noise.at(self.t).view(-1, self.problem.dim)  # (nodes × seeds, dim)
                grad = grad + noise.index_select(0, self._noise_index).view(grad.shape)
            mix = self._mixers[self.t % len(self._mixers)]
            self.x, self.state = self.algorithm.step(self.t, self.x, grad, self.state, mix)
            self.t += 1

    def _finite(self) -> Tensor:
        return torch.isfinite(self.x.sum(dim=(0, 2)))

    def _remove_diverged(self, before: tuple[int, Tensor, Any], finite: Tensor) -> None:
        """Replay the last block for the runs that broke in it, to learn the step of each."""
        runs, (t, x, state) = self.runs, (self.t, self.x, self.state)
        self.t = before[0]
        self._hold(runs[~finite], before[1][:, ~finite], _select_runs(before[2], ~finite))
        while self.t < t:
            self._step_to(self.t + 1)
            broken = self.runs[~self._finite() & (self.diverged_at[self.runs] < 0)]
            self.diverged_at[broken] = self.t
        self._hold(runs[finite], x[:, finite], _select_runs(state, finite))


def _select_runs(state: Any, mask: Tensor) -> Any:
    return type(state)(*(field[:, mask] for field in state))
