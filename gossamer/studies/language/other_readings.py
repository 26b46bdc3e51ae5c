"""Whether a published loss comes of another reading of its setting."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gossamer.algorithms import Algorithm
from gossamer.experiments import Result, Unit
from gossamer.networks import Network
from gossamer.studies.language.on_the_ring import machine, of_seed
from gossamer.studies.language.task import Task, curves, final_losses, train
from gossamer.studies.language.tuned import Settings


@dataclass(frozen=True)
class OtherReadings(Unit):
    """A method trained under several readings of a task, with a few settings in each."""

    algorithm: type[Algorithm[Any]]
    settings: Settings
    readings: Mapping[str, Task]
    network: Network
    seeds: tuple[int, ...]

    records: int = 8
    """How often a run is recorded."""

    def run(self, device: str) -> Result:
        """Reading → every setting with the final losses of its runs."""
        began = time.perf_counter()
        losses = {
            name: [{**setting, "losses": self._losses(setting, task, device)}
                   for setting in self.settings]
            for name, task in self.readings.items()
        }  # fmt: skip
        return {"readings": losses, **machine(device, began)}

    def _losses(self, setting: Mapping[str, float], task: Task, device: str) -> list[float]:
        """Of every run, from the initial weights of its seed."""
        method = self.algorithm(**setting)
        runs = (
            train(method, of_seed(task, seed), self.network, [seed], self.records, device)
            for seed in self.seeds
        )
        return [loss for run in runs for loss in final_losses(curves(run))]
