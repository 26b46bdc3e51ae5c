"""A method tuned on its search set by the full grid and by halving, reported on fresh seeds."""

from dataclasses import dataclass

import torch

from gossamer.experiments import Result
from gossamer.problems import RobustRegression
from gossamer.simulation import Halving, Tuned
from gossamer.studies.searched import Searched
from gossamer.studies.synthetic.task import curves


@dataclass(frozen=True, kw_only=True)
class TunedTwice(Searched):
    """A method under one noise, tuned by the full grid, and by halving."""

    data_seed: int
    halving: Halving
    search_dtype: torch.dtype = torch.float32
    """Searches compare thousands of runs in half the time; what is reported runs in float64."""

    def problem(self) -> RobustRegression:
        """The paper's regression."""
        return RobustRegression(self.network.num_nodes, seed=self.data_seed)

    def run(self, device: str) -> Result:
        """Strategy → what it chose, at what cost, and the errors of its choice."""
        return {
            name: chosen(self.tuned(device, strategy=strategy, search_dtype=self.search_dtype))
            for name, strategy in {"grid": "grid", "halving": self.halving}.items()
        }


def chosen(found: Tuned) -> Result:
    """What a search chose, at what cost, and the errors of its choice."""
    return {
        "hyperparameters": found.hyperparameters,
        "tuning_error": found.score,
        "run_steps": found.search.run_steps,
        **curves(found.run),
    }
