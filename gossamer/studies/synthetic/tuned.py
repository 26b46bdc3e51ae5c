"""A method tuned on its search set by the full grid and by halving, reported on fresh seeds."""

from dataclasses import dataclass
from typing import Any, Literal

import torch

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import RobustRegression
from gossamer.simulation import simulate, sweep
from gossamer.studies.synthetic.grids import Grid
from gossamer.studies.synthetic.task import curves


@dataclass(frozen=True)
class Tuned(Unit):
    """A method under one noise."""

    algorithm: type[Algorithm[Any]]
    grid: Grid
    network: Network
    noise: Noise
    steps: int
    data_seed: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]

    search_dtype: torch.dtype = torch.float32
    """Searches compare thousands of runs in half the time; what is reported runs in float64."""

    def run(self, device: str) -> Result:
        """Strategy → what it chose, at what cost, and the errors of its choice."""
        return {strategy: self._by(strategy, device) for strategy in ("grid", "halving")}

    def _by(self, strategy: Literal["grid", "halving"], device: str) -> Result:
        problem = RobustRegression(self.network.num_nodes, seed=self.data_seed)
        shared: dict[str, Any] = {"noise": self.noise, "steps": self.steps, "device": device}
        found = sweep(
            self.algorithm,
            self.grid,
            problem,
            self.network,
            seeds=self.tuning_seeds,
            strategy=strategy,
            dtype=self.search_dtype,
            **shared,
        )
        best = self.algorithm(**found.best().hyperparameters)
        seeds, metrics = self.fresh_seeds, ["error"]
        fresh = simulate(best, problem, self.network, seeds=seeds, metrics=metrics, **shared)
        return {
            "hyperparameters": best.hyperparameters,
            "tuning_error": float(found.scores().min()),
            "run_steps": int(found.stacked.steps_taken.sum()),
            **curves(fresh),
        }
