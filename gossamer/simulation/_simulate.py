"""`simulate`: one method, many seeds."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.executors import as_executor
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.clock import Clock
from gossamer.simulation.metrics import Measure
from gossamer.simulation.run import Run, as_json
from gossamer.simulation.runner import Means, OnRecord, record
from gossamer.simulation.simulation import Simulation, list_seeds, require_kind
from gossamer.simulation.store import Store, as_store


def simulate(
    algorithm: Algorithm[Any],
    problem: Problem,
    network: Network,
    *,
    noise: Noise | None = None,
    steps: int,
    seeds: int | Iterable[int] = 0,
    record_every: int | None = None,
    metrics: Sequence[str | Measure] | None = None,
    clock: Clock | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    progress: bool | None = None,
    keep_x: bool = True,
    store: Store | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    on_record: OnRecord | None = None,
) -> Run:
    """Run one method on one problem and network, once for every seed, all seeds stacked.

    Args:
        algorithm: the method with its hyper-parameters.
        problem: n private objectives.
        network: how the n nodes mix.
        noise: injected into every gradient, independently per node, step and coordinate.
        steps: T.
        seeds: one run each; the noise of a seed does not depend on what else is stacked.
        record_every: record the metrics at steps 0, k, 2k, … and T; by default 100 to 200 times.
        metrics: names among `METRICS` and of the method's `info`, or functions of a `Stack` that
            give one number per run, recorded under their names; by default all that exist for the
            problem and the method; beyond 1,000 nodes "grad_norm", which evaluates f at each of
            their points, only where asked for. Beside them is recorded what a node has spent so
            far: "gradients" evaluated, "messages" and "bytes" sent.
        clock: what a gradient and a message take; then "seconds" are recorded, too.
        dtype: precision of the simulation. Noise is always drawn in float64, and totals such as
            trackers are kept in it; in bfloat16 and float16 only gradients are computed.
        device: where to run.
        progress: force the progress bar on or off; by default on terminals only.
        keep_x: keep the final parameters; off, `Run.x` has no coordinates, which saves memory where
            many runs of a large model are compared.
        store: a folder, or a `Store` there; what it has of these runs is not computed again.
        executor: any of `concurrent.futures`, whose workers take the steps, e.g. `gs.Workers(4)`,
            mpi4py's `MPIPoolExecutor` or that of a Dask client. With a store or an executor a run
            is the same bits whatever else is stacked and whoever computes it (on CPUs).
        on_record: called with a `Recorded` whenever metrics are recorded; not of stored ones.

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
    >>> run.final("bytes")  # 400 steps, 2 mixes, 4 neighbours, 20 numbers of 8 bytes
    tensor([512000., 512000., 512000.], dtype=torch.float64)
    """
    require_kind("algorithm", algorithm, Algorithm, "gs.GTNSGDm(lr=0.01, momentum=0.8)")
    require_kind("problem", problem, Problem, "gs.RobustRegression(20)")
    means = Means(as_store(store), as_executor(executor), on_record)
    how = (dtype, device, progress, keep_x, means.alike)
    simulation = Simulation(problem, network, noise, steps, record_every, metrics, clock, *how)
    listed = list_seeds(seeds)
    method = describe_algorithm(type(algorithm)) | {"hyperparameters": algorithm.hyperparameters}
    config = as_json({"algorithm": method, **simulation.describe(), "seeds": listed})
    done = record(simulation, algorithm, listed, means)
    return Run(
        steps=done.steps,
        metrics=done.metrics,
        diverged_at=done.diverged_at,
        steps_taken=done.steps_taken,
        x=done.x,
        config=config | {"metrics": list(done.metrics), "in_c": done.in_c},
    )


def describe_algorithm(algorithm: type[Algorithm[Any]]) -> dict[str, str]:
    """The names of a method: of its class, and in papers."""
    return {"name": algorithm.__name__, "label": algorithm.label}
