"""`simulate`: one method, many seeds. `record` turns stacks into a `Run`."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from gossamer.algorithms import Algorithm
from gossamer.errors import require
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.progress import progress as progress_bar
from gossamer.simulate.metrics import METRICS, available_metrics
from gossamer.simulate.run import Run, versions
from gossamer.simulate.stack import Stack

STACK_BYTES = {"cpu": 3 * 2**19, "cuda": 2**26}
"""Size of a tensor of the largest stack: what stays in a CPU's cache, or fills a GPU."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """Everything of a simulation but the method: where it runs, for how long, what is recorded."""

    problem: Problem
    network: Network
    noise: Noise | None
    steps: int
    record_every: int
    metrics: Sequence[str]
    dtype: torch.dtype
    device: torch.device | str
    progress: bool | None

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", self.steps, "an integer ≥ 1")
        require(self.record_every >= 1, "record_every", self.record_every, "an integer ≥ 1")
        for name in self.metrics:
            require(name in METRICS, "metrics", name, f"names among {', '.join(METRICS)}")

    @property
    def record_steps(self) -> list[int]:
        """0, k, 2k, … and always the last step."""
        return sorted({*range(0, self.steps, self.record_every), self.steps})

    @property
    def runs_at_once(self) -> int:
        """How many runs a stack may hold."""
        itemsize = torch.empty(0, dtype=self.dtype).element_size()
        run_bytes = self.problem.num_nodes * self.problem.dim * itemsize
        return max(1, STACK_BYTES[torch.device(self.device).type] // run_bytes)

    def stack(self, algorithm: Algorithm[Any], seeds: Sequence[int]) -> Stack:
        """Runs of `algorithm` at step 0, run r with `seeds[r]`."""
        return Stack(
            algorithm, self.problem, self.network, self.noise, seeds, self.dtype, self.device
        )

    def describe(self) -> dict[str, Any]:
        """The setting as plain JSON."""
        noise = self.noise and {"name": type(self.noise).__name__, **vars(self.noise)}
        return {
            "problem": self.problem.describe(),
            "network": self.network.name,
            "noise": noise,
            "steps": self.steps,
            "record_every": self.record_every,
            "dtype": str(self.dtype).removeprefix("torch."),
            "device": str(self.device),
            "versions": versions(),
        }


def simulate(
    algorithm: Algorithm[Any],
    problem: Problem,
    network: Network,
    *,
    noise: Noise | None = None,
    steps: int,
    seeds: int | Iterable[int] = 0,
    record_every: int | None = None,
    metrics: Sequence[str] | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    progress: bool | None = None,
) -> Run:
    """Run one method on one problem and network, once for every seed, all seeds stacked.

    Args:
        algorithm: the method with its hyper-parameters.
        problem: n private objectives.
        network: how the n nodes mix.
        noise: injected into every gradient, independently per node, step and coordinate.
        steps: T.
        seeds: one run each; the noise of a seed does not depend on what else is stacked.
        record_every: record the metrics at steps 0, k, 2k, … and T; by default 100 times.
        metrics: names among `METRICS`; by default all that exist for the problem and the method.
        dtype: precision of the simulation; noise is always drawn in float64.
        device: where to run.
        progress: force the progress bar on or off; by default on terminals only.

    >>> import gossamer as gs
    >>> run = gs.simulate(
    ...     gs.GTNSGDm(lr=0.01, momentum=0.8),
    ...     gs.RobustRegression(num_nodes=20),
    ...     gs.ring(20, hops=2),
    ...     noise=gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1),
    ...     steps=400,
    ...     seeds=range(3),
    ... )
    >>> run.metrics["error"].shape
    torch.Size([101, 3])
    """
    setting = Setting(
        problem,
        network,
        noise,
        steps,
        record_every or max(1, steps // 100),
        available_metrics(problem, algorithm) if metrics is None else metrics,
        dtype,
        device,
        progress,
    )
    config = {"algorithm": describe_algorithm(algorithm)}
    return record(setting, algorithm, list_seeds(seeds), config)


@torch.no_grad()
def record(
    setting: Setting, algorithm: Algorithm[Any], seeds: list[int], config: dict[str, Any]
) -> Run:
    """Advance all runs from step 0 to T, in stacks that fit, and record their metrics."""
    chunks = torch.arange(len(seeds), device=setting.device).split(setting.runs_at_once)
    with progress_bar("simulating", len(seeds) * setting.steps, setting.progress) as advance:
        parts = [
            _trace(setting, setting.stack(algorithm.select(chunk), _take(seeds, chunk)), advance)
            for chunk in chunks
        ]
    return Run(
        steps=torch.tensor(setting.record_steps),
        metrics={k: torch.cat([part[0][k] for part in parts], 1) for k in setting.metrics},
        diverged_at=torch.cat([part[1] for part in parts]),
        x=torch.cat([part[2] for part in parts], 1),
        config={**config, **setting.describe(), "seeds": seeds},
    )


def _trace(
    setting: Setting, stack: Stack, advance: Callable[[int], None]
) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """Metrics `(records, runs)`, steps of divergence and final parameters of one stack."""
    times, size = setting.record_steps, len(stack.runs)
    values = {name: stack.x.new_full((len(times), size), torch.inf) for name in setting.metrics}
    for row, t in enumerate(times):
        advance(size * (t - stack.t))
        stack.advance(t - stack.t)
        for name in setting.metrics:
            values[name][row, stack.runs] = METRICS[name](stack)
    x = stack.x.new_full((stack.x.shape[0], size, stack.x.shape[2]), torch.nan)
    x[:, stack.runs] = stack.x
    return {k: v.cpu() for k, v in values.items()}, stack.diverged_at.cpu(), x.cpu()


def _take(seeds: list[int], index: Tensor) -> list[int]:
    return [seeds[i] for i in index.tolist()]


def list_seeds(seeds: int | Iterable[int]) -> list[int]:
    """One seed or many, as a list; none is refused."""
    listed = [seeds] if isinstance(seeds, int) else list(seeds)
    require(len(listed) > 0, "seeds", listed, "at least one integer")
    return listed


def describe_algorithm(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """Name and hyper-parameters as plain JSON."""
    values = {
        name: value.tolist() if isinstance(value, Tensor) else value
        for name, value in algorithm.hyperparameters.items()
    }
    return {"name": type(algorithm).__name__, "hyperparameters": values}
