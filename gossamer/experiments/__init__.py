"""The framework of experiments: results are computed once, stored, and shown in tables."""

from gossamer.experiments.experiment import Experiment, Figures, Options, Results, SizeName
from gossamer.experiments.record import Record
from gossamer.experiments.unit import Result, Unit, describe
from gossamer.experiments.verdict import Printed, Table, Verdict
from gossamer.experiments.work import Work

__all__ = [
    "Experiment",
    "Figures",
    "Options",
    "Printed",
    "Record",
    "Result",
    "Results",
    "SizeName",
    "Table",
    "Unit",
    "Verdict",
    "Work",
    "describe",
]
