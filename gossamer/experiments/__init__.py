"""Every figure, table and claim as a resumable experiment; `EXPERIMENTS` lists them by name."""

from gossamer.experiments.claim_1 import Claim1
from gossamer.experiments.experiment import Experiment, Options, Table, Unit, Verdict
from gossamer.experiments.runner import run_experiment
from gossamer.experiments.store import Store

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (Claim1(),)}

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Options",
    "Store",
    "Table",
    "Unit",
    "Verdict",
    "run_experiment",
]
