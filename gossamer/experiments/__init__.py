"""The framework of a study: units computed once and stored, read by figures and verdicts."""

from gossamer.experiments.experiment import Experiment, Options, Unit
from gossamer.experiments.runner import run_experiment
from gossamer.experiments.store import Store
from gossamer.experiments.verdict import Table, Verdict, judge

__all__ = [
    "Experiment",
    "Options",
    "Store",
    "Table",
    "Unit",
    "Verdict",
    "judge",
    "run_experiment",
]
