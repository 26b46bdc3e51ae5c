"""A method tuned on one problem under one noise: its errors on fresh seeds, and how hard it was."""

import statistics
from dataclasses import dataclass
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem, Quadratic, RobustRegression
from gossamer.simulation import tune
from gossamer.simulation.search_sets import SearchSet
from gossamer.studies.records import hundredth
from gossamer.studies.synthetic.ring_noise import ROBUST


@dataclass(frozen=True)
class Alike:
    """Nodes that hold samples of one law: the paper's regression."""

    num_nodes: int
    seed: int

    def problem(self) -> Problem:
        """The problem."""
        return RobustRegression(self.num_nodes, seed=self.seed)


@dataclass(frozen=True)
class Different:
    """Nodes whose optima lie some `spread` apart in every coordinate."""

    num_nodes: int
    dim: int
    spread: float
    seed: int

    def problem(self) -> Problem:
        """The problem."""
        return Quadratic(self.num_nodes, self.dim, spread=self.spread, seed=self.seed)


@dataclass(frozen=True)
class Compared(Unit):
    """A method in one situation, tuned by the full grid."""

    algorithm: type[Algorithm[Any]]
    grid: SearchSet
    nodes: Alike | Different
    network: Network
    noise: Noise
    steps: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]

    good: float = 2.0
    """A setting is good while its score is at most this multiple of the lowest."""

    search_dtype: torch.dtype = torch.float32

    def run(self, device: str) -> Result:
        """What was chosen, its final errors, and how many settings would have done."""
        found = tune(
            self.algorithm,
            self.nodes.problem(),
            self.network,
            grid=self.grid,
            noise=self.noise,
            steps=self.steps,
            record_every=hundredth(self.steps),
            seeds=self.fresh_seeds,
            tuning_seeds=self.tuning_seeds,
            strategy="grid",
            judge_by="error",
            search_dtype=self.search_dtype,
            device=device,
        )
        scores, initial = found.search.scores(), float(found.run.metrics["error"][0, 0])
        return {
            "hyperparameters": found.hyperparameters,
            "initial": initial,
            "errors": found.run.final().tolist(),
            "settings": len(scores),
            "good": int((scores <= self.good * scores.min()).sum()),
            "useless": int((scores > initial).sum()),
        }


def median_error(result: Result) -> float:
    """Median over the seeds of the final error."""
    return statistics.median(result["errors"])


def worst_share(result: Result) -> float:
    """The largest final error, as a share of the initial one."""
    return float(max(result["errors"]) / result["initial"])


def robust(result: Result) -> bool:
    """Whether every seed ends below half of its initial error."""
    return worst_share(result) < ROBUST
