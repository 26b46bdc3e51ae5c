"""A method tuned on one network, beyond its set if need be, then trained there or elsewhere."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network
from gossamer.noise import Noise
from gossamer.simulation import Halving
from gossamer.simulation._tune import SearchPlan, extended_sweep
from gossamer.simulation.edges import grid_edges
from gossamer.simulation.runner import Resources
from gossamer.simulation.simulation import Simulation
from gossamer.studies.language.task import Task, curves, machine, simulation, train
from gossamer.studies.language.tuned import Rungs, Settings, scores


@dataclass(frozen=True)
class Place:
    """Where a method is trained: a task, a network, and noise that is added to its gradients."""

    task: Task
    network: Network
    noise: Noise | None = None


@dataclass(frozen=True)
class Search:
    """By halving on one tuning seed, going on beyond the settings where the best is on an edge."""

    algorithm: type[Algorithm[Any]]
    settings: Settings
    task: Task
    network: Network
    seed: int
    schedule: Rungs
    extensions: int

    records: int = 32
    """How often a run is recorded."""

    def run(self, device: str) -> Result:
        """What was chosen, what was tried beyond the settings, what is on an edge, and the cost."""
        task = of_seed(self.task, self.seed)
        where: dict[str, Any] = {"problem": task.problem(device), "network": self.network}
        of_a_search = Simulation(**where, **simulation(task, self.records, device), keep_x=False)
        rule, seeds = Halving(self.schedule), [self.seed]
        plan = SearchPlan(self.algorithm, self.settings, self.extensions, rule, seeds)
        tried, found, extended = extended_sweep(of_a_search, plan, Resources())
        chosen = tried[found.best_setting()]
        return {
            "hyperparameters": chosen,
            "settings": len(tried),
            "run_steps": found.run_steps,
            "extended": extended,
            "edges": grid_edges(tried, self.algorithm(**chosen)),
            "scores": scores(found),
        }

    def trained(self, chosen: Result, place: Place, seeds: Sequence[int], device: str) -> Result:
        """The losses of the choice at a place, every run from the initial weights of its seed."""
        method = self.algorithm(**chosen)
        runs = [
            curves(
                train(
                    method,
                    of_seed(place.task, seed),
                    place.network,
                    [seed],
                    self.records,
                    device,
                    noise=place.noise,
                )
            )
            for seed in seeds
        ]
        rows = zip(*(run["validation_loss"] for run in runs), strict=True)
        side_by_side = [[loss for losses in row for loss in losses] for row in rows]
        return {"steps": runs[0]["steps"], "validation_loss": side_by_side}


@dataclass(frozen=True)
class OnTheRing(Unit):
    """A method tuned and trained at one place."""

    search: Search
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """What the search chose, and the losses of its choice."""
        began, place = time.perf_counter(), Place(self.search.task, self.search.network)
        found = self.search.run(device)
        curve = self.search.trained(found["hyperparameters"], place, self.seeds, device)
        return {"search": found, **curve, **machine(device, began)}


@dataclass(frozen=True)
class Elsewhere(Unit):
    """A method tuned at one place and trained at others."""

    search: Search
    places: Mapping[str, Place]
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """What the search chose, and the losses of its choice at every other place."""
        began = time.perf_counter()
        found = self.search.run(device)
        chosen = found["hyperparameters"]
        losses = {
            name: self.search.trained(chosen, place, self.seeds, device)
            for name, place in self.places.items()
        }
        return {"search": found, "places": losses, **machine(device, began)}


def of_seed(task: Task, seed: int) -> Task:
    """The task from the initial weights of a seed."""
    return dataclasses.replace(task, seed=seed)
