"""A method tuned by a search on few runs, then trained on every network with fresh seeds."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network, complete
from gossamer.provenance import device_name
from gossamer.simulation import Halving, Sweep, sweep
from gossamer.studies.language.task import Task, curves, simulation, train

Schedule = tuple[tuple[float, float], ...]
"""Share of T, share of the settings that goes on in a search."""

Settings = tuple[dict[str, float], ...]

FEW: Schedule = ((1 / 8, 0.6), (1 / 4, 0.45))
HUNDREDS: Schedule = ((1 / 16, 0.5), (1 / 8, 0.3), (1 / 4, 0.15))


def schedule_for(settings: Settings) -> Schedule:
    """How a search of that many settings ends hopeless ones; a handful runs to the end."""
    return () if len(settings) <= 4 else FEW if len(settings) <= 100 else HUNDREDS


@dataclass(frozen=True)
class OnOneNode:
    """All settings on one node that holds all data, by halving, then the best on the network.

    One node is the central method at 1/n of the cost. Its batches have the size of one node's, and
    there is no dropout.
    """

    network: Network
    schedule: Schedule

    finalists: int = 3
    """Settings that are compared on the network."""

    def search(self, unit: "Tuned", device: str) -> Result:
        """Which hyper-parameters to train with, and what that cost."""
        central = self.central(unit, device)
        compared = unit.on(self.network, lowest(central, self.finalists), device)
        return {
            "hyperparameters": compared.best().hyperparameters,
            "settings": len(unit.settings),
            "run_steps_on_one_node": central.run_steps,
            "run_steps": compared.run_steps,
            "on_one_node": scores(central),
            "on_the_ring": scores(compared),
        }

    def central(self, unit: "Tuned", device: str) -> Sweep:
        """All settings on one node, for as many steps as the network will take."""
        alone = dataclasses.replace(unit.task, num_nodes=1, dropout=0.0)
        arguments = simulation(unit.task, unit.records // 2, device)
        return sweep(
            unit.algorithm,
            unit.settings,
            alone.problem(device),
            complete(1),
            seeds=unit.tuning_seeds,
            strategy=Halving(self.schedule),
            judge_by="validation_loss",
            keep_x=False,
            **arguments,
        )


@dataclass(frozen=True)
class Tuned(Unit):
    """A method tuned and then trained on every network."""

    algorithm: type[Algorithm[Any]]
    settings: Settings
    task: Task
    networks: Mapping[str, Network]
    search: OnOneNode
    tuning_seeds: tuple[int, ...]
    fresh_seeds: tuple[int, ...]

    records: int = 32
    """How often a run is recorded."""

    def run(self, device: str) -> Result:
        """What the search chose, and the losses of its choice on every network."""
        began = time.perf_counter()
        found = self.search.search(self, device)
        method = self.algorithm(**found["hyperparameters"])
        runs = {
            name: train(method, self.task, network, self.fresh_seeds, self.records, device)
            for name, network in self.networks.items()
        }
        return {
            "search": found,
            "networks": {name: curves(run) for name, run in runs.items()},
            "steps": self.task.steps(device),
            "steps_per_epoch": self.task.problem(device).steps_per_epoch,
            "machine": device_name(device),
            "seconds": round(time.perf_counter() - began, 1),
        }

    def on(self, network: Network, settings: Settings, device: str) -> Sweep:
        """These settings on a network, with the tuning seeds."""
        return sweep(
            self.algorithm,
            settings,
            self.task.problem(device),
            network,
            seeds=self.tuning_seeds,
            judge_by="validation_loss",
            keep_x=False,
            **simulation(self.task, self.records, device),
        )


def lowest(found: Sweep, count: int) -> Settings:
    """The settings with the lowest scores."""
    return tuple(dict(found.settings[int(i)]) for i in found.scores().argsort()[:count])


def scores(found: Sweep) -> list[Result]:
    """Hyper-parameters and validation loss of the settings that reached the end, best first."""
    losses = found.scores()
    finished = [int(i) for i in losses.argsort() if losses[i].isfinite()]
    return [{**found.settings[i], "validation_loss": round(float(losses[i]), 5)} for i in finished]
