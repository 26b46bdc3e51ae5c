"""`simulate`: one method, many seeds."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.metrics import available_metrics
from gossamer.simulation.recorder import record
from gossamer.simulation.run import Run
from gossamer.simulation.setting import Setting, list_seeds, require_kind


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
    keep_x: bool = True,
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
        keep_x: keep the final parameters; off, `Run.x` has no coordinates, which saves memory where
            many runs of a large model are compared.

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
    require_kind("algorithm", algorithm, Algorithm, "gs.GTNSGDm(lr=0.01, momentum=0.8)")
    require_kind("problem", problem, Problem, "gs.RobustRegression(20)")
    names = available_metrics(problem, algorithm) if metrics is None else metrics
    setting = Setting(
        problem, network, noise, steps, record_every, names, dtype, device, progress, keep_x
    )
    config = {"algorithm": describe_algorithm(algorithm)}
    return record(setting, algorithm, list_seeds(seeds), config)


def describe_algorithm(algorithm: Algorithm[Any]) -> dict[str, Any]:
    """Name and hyper-parameters."""
    return {"name": type(algorithm).__name__, "hyperparameters": algorithm.hyperparameters}
