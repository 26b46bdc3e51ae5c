"""What the synthetic experiments share: the noises, the networks, tuning and reporting."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.experiments.experiment import Options, Result
from gossamer.networks import Network, complete, exponential, ring
from gossamer.noise import AlphaStable, Gaussian, Noise, StudentT
from gossamer.problems import RobustRegression
from gossamer.simulation import Run, Sweep, simulate, sweep
from gossamer.studies.synthetic.grids import Grid

NODES = 20

SEARCH_DTYPE = torch.float32
"""Searches compare thousands of runs in half the time; what is reported runs in float64."""

NOISES: dict[str, Noise] = {
    "Gaussian": Gaussian(std=math.sqrt(3)),
    "Student-t": StudentT(df=1.5),
    "α-stable": AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1),
}
"""The paper's N(0, 3I), t(1.5) and Lévy α-stable noise (multiplied by 0.1)."""

NETWORKS: dict[str, Network] = {
    "ring": ring(NODES, hops=2),
    "directed exponential": exponential(NODES),
    "undirected exponential": exponential(NODES, directed=False),
    "complete": complete(NODES),
}

PRINTED_LAMBDA = {
    "ring": 0.904,
    "directed exponential": 0.714,
    "undirected exponential": 0.6,
    "complete": 0.0,
}


def steps(options: Options) -> int:
    """T: the paper does not print it; 3,000 to 10,000 reproduces its figures."""
    return 10_000 if options.full else 3_000


def fresh_seeds(options: Options) -> list[int]:
    """The five seeds that are reported, never tuned on."""
    return [1000 * options.seed + seed for seed in range(5)]


def tuning_seeds(options: Options) -> list[int]:
    """The seeds that hyper-parameters are chosen on."""
    return [1000 * options.seed + 500 + seed for seed in range(3 if options.full else 1)]


def problem(options: Options, num_nodes: int = NODES) -> RobustRegression:
    """The synthetic task; one dataset, whatever the number of nodes."""
    return RobustRegression(num_nodes, seed=options.seed)


def tune(
    algorithm: type[Algorithm[Any]],
    grid: Grid,
    network: Network,
    noise: Noise,
    options: Options,
) -> Result:
    """Choose on the tuning seeds by full grid and by halving; report both on the fresh seeds."""
    task = problem(options)
    arguments: dict[str, Any] = {"noise": noise, "steps": steps(options), "device": options.device}
    result: Result = {}
    for strategy in ("grid", "halving"):
        found = sweep(
            algorithm,
            grid,
            task,
            network,
            seeds=tuning_seeds(options),
            strategy=strategy,
            dtype=SEARCH_DTYPE,
            **arguments,
        )
        best = found.best()
        fresh = simulate(
            algorithm(**best.hyperparameters),
            task,
            network,
            seeds=fresh_seeds(options),
            metrics=["error"],
            **arguments,
        )
        result[strategy] = {**_choice(found, best), **curves(fresh)}
    return result


def _choice(found: Sweep, best: Run) -> Result:
    return {
        "hyperparameters": best.hyperparameters,
        "tuning_error": float(found.scores().min()),
        "run_steps": found.run_steps,
    }


def curves(run: Run) -> Result:
    """The error of every seed over the steps, as plain lists."""
    return {"steps": run.steps.tolist(), "error": run.metrics["error"].tolist()}


def final_errors(curve: Result) -> list[float]:
    """The last recorded error of every seed."""
    return list(curve["error"][-1])


def median_error(curve: Result) -> float:
    """Median over the seeds of the last recorded error."""
    return statistics.median(final_errors(curve))


def spread(values: Sequence[float]) -> str:
    """Median and range, as "0.31 [0.28, 0.35]"; divergence is written out."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return f"diverged on {len(values) - len(finite)} of {len(values)} seeds"
    return f"{statistics.median(values):.3f} [{min(values):.3f}, {max(values):.3f}]"


def show_hyperparameters(values: dict[str, Any]) -> str:
    """The numbers, as "lr = 0.01, momentum = 0.6"; words such as the order are left out."""
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    return ", ".join(f"{name} = {value:g}" for name, value in numbers.items())
