"""`simulate`: one method, many seeds."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.executors import as_executor
from gossamer.kinds import require_kind
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation.clock import Clock
from gossamer.simulation.metrics import Measure
from gossamer.simulation.run import Run, as_json
from gossamer.simulation.runner import OnRecord, Resources, record
from gossamer.simulation.simulation import Simulation, list_seeds
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
    """Run one method on one problem and network, once for every seed, all runs in one stack.

    Args:
        algorithm: the method with its hyper-parameters.
        problem: the private objectives of the n nodes.
        network: the links between the n nodes, and the weights with which they average.
        noise: added to every gradient, and drawn independently for every node and step. Whether
            the coordinates of a gradient get independent noise, too, depends on the distribution
            (law) of the noise: with `gs.MultivariateT` and `gs.SubGaussianStable`, all coordinates
            are large together.
        steps: T, the number of steps of every run.
        seeds: one seed or several; there is one run for each. `seeds=2` is the seed 2, not two
            seeds, which are `range(2)` (on the command line, `--seeds 2` is two seeds, 0 and 1).
            The noise of a seed does not depend on the other seeds.
        record_every: the number k of steps between two records, so that metrics are recorded at
            steps 0, k, 2k, … and T. By default k is the power of two that makes 100 to 200 records,
            or 1 if T is below 100.
        metrics: what to record. A metric is a name in `gs.METRICS`, a name in the method's `info`,
            or a function of a `Stack` that returns one number per run. With the average x̄ of the
            nodes' parameters x_i, "error" is the mean of ‖x_i − x*‖, "loss" is f(x̄),
            "validation_loss" and "error_rate" are those of x̄ on validation data, "grad_norm" is the
            mean of ‖∇f(x_i)‖, "consensus_error" the mean of ‖x_i − x̄‖, and "tracker_error" the mean
            distance of the trackers from the average gradient. By default all metrics that
            exist for the problem and the method, but two only if they are quick: "grad_norm"
            evaluates ∇f at the parameters of every node, and is left out beyond 1,000 nodes and
            for a `ModuleProblem`; "tracker_error" evaluates all ∇f_i, and is left out for a
            `ModuleProblem`. What a node has spent so far is always recorded, too: "gradients"
            evaluated, "messages" and "bytes" sent.
        clock: a model of how long gradients and messages take; with it, "seconds" are recorded.
        dtype: precision of the simulation. With bfloat16 or float16, only gradients are computed in
            this precision, and everything else in float32 at least. In any precision, noise is
            drawn in float64, and totals (quantities whose sum over the nodes must be preserved,
            e.g. trackers) are kept in float64.
        device: the torch device to run on.
        progress: whether to show a progress bar; by default only on a terminal.
        keep_x: whether to keep the final parameters. If False, `Run.x` is empty, which saves memory
            if many runs of a large model are compared.
        store: a folder, or a `Store`. Results found there are not computed again, and new results
            are written there.
        executor: an executor as in `concurrent.futures`, whose workers compute the steps, e.g.
            `gs.Workers(4)`, mpi4py's `MPIPoolExecutor` or the executor of a Dask client. With a
            store or an executor, the results of a run on CPUs are identical bit for bit, whatever
            other runs there are and whichever worker computes it, if the method and the problem
            are of the library.
        on_record: called with a `Recorded` whenever metrics are recorded, but not for results that
            come from the store.

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
    >>> run.final("bytes")  # 400 steps, 2 vectors to 4 neighbours, 20 numbers of 8 bytes
    tensor([512000., 512000., 512000.], dtype=torch.float64)
    """
    require_kind("algorithm", algorithm, Algorithm, "gs.GTNSGDm(lr=0.01, momentum=0.8)")
    resources = Resources(as_store(store), as_executor(executor), on_record)
    simulation = Simulation(
        problem=problem,
        network=network,
        noise=noise,
        steps=steps,
        record_every=record_every,
        metrics=metrics,
        clock=clock,
        dtype=dtype,
        device=device,
        progress=progress,
        keep_x=keep_x,
        alike=resources.alike,
    )
    return run_seeds(simulation, algorithm, list_seeds(seeds), resources)


def run_seeds(
    simulation: Simulation, algorithm: Algorithm[Any], seeds: Sequence[int], resources: Resources
) -> Run:
    """`simulate`, of a simulation that is described."""
    method = describe_algorithm(type(algorithm)) | {"hyperparameters": algorithm.hyperparameters}
    config = as_json({"algorithm": method, **simulation.describe(), "seeds": list(seeds)})
    done = record(simulation, algorithm, seeds, resources)
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
