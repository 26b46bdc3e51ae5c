"""What the synthetic experiments share: the noises, the networks, and how their curves are read."""

import math
import statistics

from gossamer.experiments import Result
from gossamer.networks import Network, complete, exponential, ring
from gossamer.noise import AlphaStable, Gaussian, Noise, StudentT
from gossamer.simulation import Run

NODES = 20

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

ROBUST = 0.5
"""A method is robust where no seed ends above this share of the initial error."""


def curves(run: Run) -> Result:
    """The error of every seed over the steps, as plain lists."""
    return {"steps": run.steps.tolist(), "error": run.metrics["error"].tolist()}


def final_errors(curve: Result) -> list[float]:
    """The last recorded error of every seed."""
    return list(curve["error"][-1])


def median_final_error(curve: Result) -> float:
    """Median over the seeds of the last recorded error."""
    return statistics.median(final_errors(curve))
