"""A method tuned for every network by a search on few runs, then trained there with fresh seeds."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network, complete
from gossamer.simulation import Halving, Sweep, sweep
from gossamer.studies.language.task import Task, curves, machine, simulation, train

Rungs = tuple[tuple[float, float], ...]
"""Share of T, share of the settings that goes on in a search."""

Settings = tuple[dict[str, float], ...]

FEW: Rungs = ((1 / 8, 0.6), (1 / 4, 0.45))
HUNDREDS: Rungs = ((1 / 16, 0.5), (1 / 8, 0.3), (1 / 4, 0.15))


def rungs_for(settings: Settings) -> Rungs:
    """How a search of that many settings ends hopeless ones; a handful runs to the end."""
    return () if len(settings) <= 4 else FEW if len(settings) <= 100 else HUNDREDS


@dataclass(frozen=True)
class OnOneNode:
    """All settings on one node that holds all data, by halving, then the best on every network.

    One node is the central method at 1/n of the cost. Its batches have the size of one node's, and
    there is no dropout.
    """

    schedule: Rungs

    finalists: int = 3
    """Settings that are compared on every network."""

    def search(self, unit: "TunedPerNetwork", device: str) -> Result:
        """Which hyper-parameters to train with on each network, and what that cost."""
        central = self.central(unit, device)
        finalists = lowest(central, self.finalists)
        compared = {
            name: unit.on(network, finalists, device) for name, network in unit.networks.items()
        }
        return {
            "settings": len(unit.settings),
            "run_steps_on_one_node": central.run_steps,
            "run_steps": sum(found.run_steps for found in compared.values()),
            "on_one_node": scores(central),
            "on_networks": {name: scores(found) for name, found in compared.items()},
            "chosen": {name: found.best().hyperparameters for name, found in compared.items()},
        }

    def central(self, unit: "TunedPerNetwork", device: str) -> Sweep:
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


@dataclass(frozen=True, kw_only=True)
class TunedPerNetwork(Unit):
    """A method tuned for every network and trained there."""

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
        return {
            "search": found,
            "networks": {
                name: self.trained(found["chosen"][name], network, device)
                for name, network in self.networks.items()
            },
            "steps": self.task.steps(device),
            "steps_per_epoch": self.task.problem(device).steps_per_epoch,
            **machine(device, began),
        }

    def trained(self, chosen: Result, network: Network, device: str) -> Result:
        """The losses of a choice on a network, with the fresh seeds."""
        method = self.algorithm(**chosen)
        return curves(train(method, self.task, network, self.fresh_seeds, self.records, device))

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
