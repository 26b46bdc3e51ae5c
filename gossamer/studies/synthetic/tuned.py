"""A method tuned on its search set by the full grid and by halving, reported on fresh seeds."""

from dataclasses import dataclass
from typing import Any, Literal

import torch

from gossamer import simulation
from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import RobustRegression
from gossamer.simulation import Halving, tune
from gossamer.simulation.search_sets import SearchSet
from gossamer.studies.records import hundredth
from gossamer.studies.synthetic.task import curves


@dataclass(frozen=True)
class Tuned(Unit):
    """A method under one noise."""

    algorithm: type[Algorithm[Any]]
    grid: SearchSet
    network: Network
    noise: Noise
    steps: int
    data_seed: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]

    halving: Halving
    search_dtype: torch.dtype = torch.float32
    """Searches compare thousands of runs in half the time; what is reported runs in float64."""

    def run(self, device: str) -> Result:
        """Strategy → what it chose, at what cost, and the errors of its choice."""
        return {
            "grid": chosen(self._by("grid", device)),
            "halving": chosen(self._by(self.halving, device)),
        }

    def _by(self, strategy: Literal["grid"] | Halving, device: str) -> simulation.Tuned:
        return tune(
            self.algorithm,
            RobustRegression(self.network.num_nodes, seed=self.data_seed),
            self.network,
            grid=self.grid,
            noise=self.noise,
            steps=self.steps,
            record_every=hundredth(self.steps),
            seeds=self.fresh_seeds,
            tuning_seeds=self.tuning_seeds,
            strategy=strategy,
            search_dtype=self.search_dtype,
            device=device,
        )


def chosen(found: simulation.Tuned) -> Result:
    """What a search chose, at what cost, and the errors of its choice."""
    return {
        "hyperparameters": found.hyperparameters,
        "tuning_error": found.score,
        "run_steps": found.search.run_steps,
        **curves(found.run),
    }
