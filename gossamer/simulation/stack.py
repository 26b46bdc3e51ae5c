"""The one loop: n nodes × many runs, advanced together."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm, Local, state_dtype
from gossamer.algorithms.local import STREAM
from gossamer.algorithms.stacked_schedules import in_tensors
from gossamer.errors import refuse, require
from gossamer.fit import require_fit
from gossamer.memory import keep_freed_memory
from gossamer.native import Lanes, NativeLoop
from gossamer.networks import Mixer, Network, Talk
from gossamer.networks.chance import Coins
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.checkpoint import Checkpoint, Content, select_runs
from gossamer.simulation.noise_stream import NoiseStream, block_steps
from gossamer.simulation.step import is_ours, numeric, step_on
from gossamer.simulation.step_graphs import DEVICES, MOST_NUMBERS, StepGraphs
from gossamer.simulation.taken import require_state
from gossamer.simulation.threads import threads_for

QUIET_STEPS = 128
"""Steps between looks whether runs are finite, where no noise is drawn ahead for a block of them;
what diverged in between is taken again, step by step."""


class Stack:
    """Runs of one method on one problem and network, computed together.

    The parameters of all runs are one tensor `x`, `(nodes, runs, dim)`. Metrics can read it and the
    attributes `state`, `algorithm`, `problem`, `network` and `t`, the number of steps taken. The
    runs differ in their seed and in the method's hyper-parameters, which are tensors of shape
    `(runs, 1)`. They do not influence each other: in a stack, a run takes the same steps as alone,
    up to rounding (see `lanes`). Runs that become non-finite leave the stack; `runs` holds the
    indices of those still in it.

    Args:
        algorithm: the method; its tensors have one row per run.
        problem: the private objectives of the n nodes.
        network: the links between the n nodes, and the weights with which they average.
        noise: added to every gradient.
        seeds: one for each run.
        dtype: precision of the problem.
        device: the torch device to run on.
        begin: the state to continue from, as returned by `checkpoint`; None begins at step 0.
        lanes: the stack is padded with copies of its last run to a multiple of this number, because
            numerical libraries sum in an order that depends on the size of the stack. With 96
            lanes, the results of a run on CPUs are identical bit for bit, whatever other runs there
            are.
        native: the steps compiled to C; None to run them in Python.
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
        begin: Checkpoint | None = None,
        lanes: int = 1,
        native: NativeLoop | None = None,
    ) -> None:
        nodes = f"{network.num_nodes} nodes where the problem has {problem.num_nodes}"
        require(network.num_nodes == problem.num_nodes, "network", nodes, "the same number")
        require_fit(algorithm, network)
        keep_freed_memory(8 * problem.num_nodes * len(seeds) * problem.dim)  # of a tracker
        self._model, self.network = problem.to(device, dtype), network
        dtype = state_dtype(dtype)
        self.problem = self._model.to(device, dtype)
        self.t = 0 if begin is None else begin.t
        self._lanes = lanes
        self.diverged_at = torch.full((len(seeds),), -1, device=device)
        self._told_at: Tensor | None = None
        self._all_seeds = list(seeds)
        algorithm.require_runs(len(seeds))
        alike = _in_tensors(algorithm) if lanes > 1 and is_ours(algorithm) else algorithm
        self._all_algorithms = alike.to(dtype=dtype, device=device)
        self._channel = partial(network.channel, dtype=dtype, device=device)
        self._step = step_on(type(algorithm), dtype, device)
        sizes = problem.num_nodes, problem.dim
        self._noise = None
        if noise is not None:
            drawn = () if begin is None else (begin.t, begin.generators)
            self._noise = NoiseStream(noise, seeds, *sizes, dtype, device, *drawn)
        self._block = QUIET_STEPS if noise is None else block_steps(*sizes)  # can be replayed
        given, one_for_all = tuple(problem.start.shape), (problem.dim,)
        require(given == one_for_all, "start", f"shape {given}", f"shape {one_for_all}")
        if begin is None:
            shape = (problem.num_nodes, len(seeds), problem.dim)
            x = self.problem.start.expand(shape).contiguous()
            content: Content = (x, algorithm.at(0, x).init(x), ())
            require_state(content[1], x)
        else:
            content = begin.content(device)
        self._native = native
        self._small = content[0].device.type in DEVICES and content[0].numel() <= MOST_NUMBERS
        self._hold(torch.arange(len(seeds), device=device), content)

    def advance(self, steps: int) -> None:
        """Advance all runs by this many steps.

        Runs that become non-finite leave the stack, and `diverged_at` notes the step.
        """
        end = self.t + steps
        while self.t < end and len(self.runs) > 0:
            before = (self.t, self._content)
            with self.threads() as threads:
                self._step_to(min(end, self.t + self._block - self.t % self._block), threads)
                self._require_same_numbers()
                finite = self._finite()
                if not finite.all():
                    self._remove_diverged(before, finite, threads)
        self.t = end

    def keep(self, mask: Tensor) -> None:
        """Go on only with the runs that the boolean `mask`, `(runs,)`, selects."""
        own = mask.clone()
        own[self.count :] = False
        self._hold(self.runs[own], select_runs(own, self._content))

    def checkpoint(self) -> Checkpoint:
        """The state of the runs, from which another stack can continue them."""
        own = torch.arange(self.count, device=self.x.device)
        seeds = dict.fromkeys(self.seeds)
        drawn = {} if self._noise is None else self._noise.generators(self.t)
        generators = {seed: drawn[seed] for seed in seeds if seed in drawn}
        return Checkpoint(self.t, *select_runs(own, self._content), generators)

    @property
    def _content(self) -> Content:
        return self.x, self.state, self.links

    def _hold(self, runs: Tensor, content: Content) -> None:
        """Make `runs`, at x and state and with the memory of their links, the content.

        The first `count` of what is held then are these runs, the others copies.
        """
        self.count = len(runs)
        if self.count % self._lanes > 0:
            filled = Lanes(self._lanes, self.count).filled.to(runs.device)
            runs, content = runs[filled], select_runs(filled, content)
        self.runs, (self.x, self.state, self.links) = runs, content
        self.seeds = [self._all_seeds[run] for run in runs.tolist()]
        self.algorithm = self._all_algorithms.select(runs)
        on_cpu = self.algorithm.tensors if self.x.is_cpu else {}
        self._numbers = [(name, z, z.clone()) for name, z in on_cpu.items()]
        self.channel = self._channel(self.seeds)
        self._coins = None
        if self.algorithm.asks_local:
            nodes = torch.arange(len(self.x), device=runs.device)
            self._coins = Coins.of(self.seeds, nodes, STREAM)
        if self._noise is not None:
            self._noise.serve(self.seeds)
        self._graphs = self._step_graphs()

    def _require_same_numbers(self) -> None:
        """Refuse a method that has changed the numbers of the runs, as `lr *= 0.5` does."""
        changed = [name for name, now, before in self._numbers if not torch.equal(now, before)]
        if changed:
            name, found = f"step of {type(self.algorithm).__name__}", ", ".join(changed)
            way_out = "write lr = lr * 0.5, not lr *= 0.5"
            refuse(name, f"a step that changes {found}", "hyper-parameters that stay", way_out)

    def info(self) -> dict[str, Tensor]:
        """The method's `info` on the next step, averaged over the nodes: name → `(runs,)`."""
        if self._told_at is not self.x:
            method = self.algorithm.at(self.t, self.x)
            told = method.info(self.t, self.x, self._grad(self.x), self.state)
            for name, values in told.items():
                found, need = f"shape {tuple(values.shape)}", tuple(self.x.shape[:-1])
                require(values.shape == need, name, found, f"shape {need}: a number per point")
            self._told = {name: values.mean(0) for name, values in told.items()}
            self._told_at = self.x
        return self._told

    def threads(self) -> AbstractContextManager[int]:
        """Compute with as many threads as these runs are worth; see `threads_for`."""
        return threads_for(self.x, native=self._native is not None)

    def _step_graphs(self) -> StepGraphs | None:
        """Steps as CUDA graphs, where they are small and nothing is drawn but the noise."""
        pure = self.problem.exact and not self.algorithm.asks_local
        if not self._small or not pure or self.channel.period is None:
            return None
        return StepGraphs(self.algorithm, self._step, self._grad_with, self.channel)

    def _step_to(self, end: int, threads: int) -> None:
        if self._graphs is not None:
            self._step_in_graphs(self._graphs, end)
        elif self._native is None:
            self._step_one_by_one(end)
        elif end > self.t:
            methods = list(self.algorithm.along(range(self.t, end), self.x))
            samples, place = self._noise.between(self.t, end) if self._noise else (None, None)
            given = (self.t, methods, self.x, self.state, samples, place)
            self.x, self.state = self._native.advance(*given, threads)
            self.t = end

    def _step_in_graphs(self, graphs: StepGraphs, end: int) -> None:
        drawn = None if self._noise is None else self._noise.between(self.t, end)[0]
        try:
            given = (self.x, self.state, drawn)
            self.x, self.state = graphs.advance(range(self.t, end), *given)
            self.t = end
        except Exception:  # a step that needs Python numbers; what fails again is the method's
            self._small, self._graphs = False, None
            self._step_one_by_one(end)

    def _step_one_by_one(self, end: int) -> None:
        for method in self.algorithm.along(range(self.t, end), self.x):
            mix, grad = self._talk(), self._grad(self.x)
            given = (method, self.t, self.x, grad, self.state, mix)
            self.x, state = self._step(*given, *self._asked_for())
            self.state, self.links = _without(grad, state), mix.memory
            self.t += 1

    def _talk(self) -> Talk:
        """The mix of the step to come, which writes the new x also for the next gradient."""
        mix = self.channel.talk(self.t, self.links)
        twin = self._model.twin(self.x)
        return replace(mix, twin=twin) if twin is not None and isinstance(mix, Mixer) else mix

    def _asked_for(self) -> tuple[Local, ...]:
        """What the step to come is given beside its arguments, if it asks for it."""
        if self._coins is None:
            return ()
        return (Local(self.t, self._grad, self._coins, self.problem.parameter_shapes),)

    def _grad(self, x: Tensor) -> Tensor:
        """The stochastic gradient at `x` of the step to come, with its noise."""
        grad = self._model_grad(x)
        if grad.shape != x.shape:  # broadcasting would hide it
            found = f"shape {tuple(grad.shape)} at points of shape {tuple(x.shape)}"
            refuse("local_grad", found, "one gradient per point, the same shape")
        return grad if self._noise is None else self._noise.add(grad, self.t)

    def _grad_with(self, x: Tensor, drawn: Tensor | None) -> Tensor:
        """The gradient at `x` with noise that was drawn, whatever the step."""
        grad = self._model_grad(x)
        return grad if self._noise is None or drawn is None else self._noise.added(grad, drawn)

    def _model_grad(self, x: Tensor) -> Tensor:
        """∇f_i(x_i; ξ_i), evaluated in the precision of the model.

        A method that asks for further gradients is given one that they do not overwrite.
        """
        given, of = x.to(self._model.start.dtype), self._model
        grad = of.sample_grad if self.algorithm.asks_local else of.momentary_grad
        return grad(given, self.t, self.seeds).to(x)

    def _finite(self) -> Tensor:
        """Which runs are finite, in one pass: those whose sum is; that of others may overflow."""
        if self.x.is_cuda:
            return torch.linalg.vector_norm(self.x, torch.inf, dim=2).isfinite().all(dim=0)
        finite = self.x.sum(dim=(0, 2)).isfinite()
        return finite if finite.all() else self.x.isfinite().all(dim=2).all(dim=0)

    def _remove_diverged(self, before: tuple[int, Content], finite: Tensor, threads: int) -> None:
        """Replay the last block for the runs that broke in it, to learn the step of each."""
        runs, t, now = self.runs, self.t, self._content
        own = torch.arange(len(runs), device=runs.device) < self.count
        going_on, broken = finite & own, ~finite & own
        self.t = before[0]
        self._hold(runs[broken], select_runs(broken, before[1]))
        while self.t < t:
            self._step_to(self.t + 1, threads)
            self._mark_diverged(~self._finite())
        self._mark_diverged(torch.ones_like(self.runs, dtype=torch.bool))  # rounding may differ
        self._hold(runs[going_on], select_runs(going_on, now))

    def _mark_diverged(self, broken: Tensor) -> None:
        first_time = self.runs[broken & (self.diverged_at[self.runs] < 0)]
        self.diverged_at[first_time] = self.t


def _without(grad: Tensor, state: Any) -> Any:
    """The state with a copy of `grad` where it holds it: the next gradient may overwrite that."""
    memory = grad.data_ptr()
    if all(z.data_ptr() != memory for z in state):
        return state
    return type(state)(*(z.clone() if z.data_ptr() == memory else z for z in state))


def _in_tensors(algorithm: Algorithm[Any]) -> Algorithm[Any]:
    """The same, computed with as where every run has numbers of its own."""
    names = numeric(type(algorithm))
    return algorithm.holding({name: in_tensors(getattr(algorithm, name)) for name in names})
