"""Studies that search for hyper-parameters: how much of it, and the unit that does it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, TypedDict

from gossamer.algorithms import Algorithm
from gossamer.experiments import Unit
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.simulation import Tuned, tune
from gossamer.simulation.search_sets import SearchSet
from gossamer.studies.records import hundredth
from gossamer.studies.seeds import fresh_seeds, tuning_seeds

Method = type[Algorithm[Any]]

Entry = tuple[Method, SearchSet]
"""A method and what is searched for it."""


class SearchFields(TypedDict):
    """The fields of a `Searched` unit that follow from its method and the size of the study."""

    algorithm: Method
    grid: SearchSet
    steps: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How long and how often every method runs, and how much of its search set is tried."""

    steps: int
    tuning_seeds: int
    fresh_seeds: int = 5

    every: int = 1
    """Of each hyper-parameter every such value."""

    def of(self, grid: SearchSet) -> SearchSet:
        """The values to try at this size.

        >>> Size(steps=100, tuning_seeds=1, every=2).of({"lr": [0.1, 0.2, 0.5]})
        {'lr': [0.1, 0.5]}
        """
        return {name: values[:: self.every] for name, values in grid.items()}

    def search(self, entry: Entry, seed: int) -> SearchFields:
        """What is searched for a method at this size; `seed` is the study's own."""
        algorithm, grid = entry
        return {
            "algorithm": algorithm,
            "grid": self.of(grid),
            "steps": self.steps,
            "tuning_seeds": tuning_seeds(seed, self.tuning_seeds),
            "fresh_seeds": fresh_seeds(seed, self.fresh_seeds),
        }


@dataclass(frozen=True, kw_only=True)
class Searched(Unit):
    """A method in one situation: searched on tuning seeds, reported on fresh ones."""

    algorithm: Method
    grid: SearchSet
    network: Network
    noise: Noise
    steps: int
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]

    @abstractmethod
    def problem(self) -> Problem:
        """What the method is to solve."""

    def tuned(self, device: str, **how: Any) -> Tuned:
        """The search, and its choice on the fresh seeds; `how` are further arguments of `tune`."""
        search = {"grid": self.grid, "tuning_seeds": self.tuning_seeds}
        return tune(self.algorithm, self.problem(), **(self.task(device) | search | how))

    def task(self, device: str) -> dict[str, Any]:
        """What every run on the fresh seeds has in common, as arguments of `tune` and `sweep`."""
        return {
            "network": self.network,
            "noise": self.noise,
            "steps": self.steps,
            "seeds": self.fresh_seeds,
            "record_every": hundredth(self.steps),
            "judge_by": "error",
            "device": device,
        }
