"""The simulator: runs methods on simulated networks, tunes them, and records their results.

A *run* is one method with one setting of its hyper-parameters and one seed. Runs that differ only
in setting and seed are computed together, as one *stack*. The metrics of a run are *recorded* at
some of its steps. An object of class `Run` holds the runs of one setting for all seeds.
"""

from gossamer.simulation._compare import compare
from gossamer.simulation._simulate import simulate
from gossamer.simulation._sweep import grid_settings, stack_settings, sweep
from gossamer.simulation._tune import OnTheEdge, Tuned, tune
from gossamer.simulation.clock import Clock
from gossamer.simulation.comparison import Comparison, Entry, side_by_side
from gossamer.simulation.halving import Halving
from gossamer.simulation.method_check import check_method
from gossamer.simulation.metrics import (
    COSTS,
    METRICS,
    Metric,
    available_metrics,
    main_metric,
    metric,
)
from gossamer.simulation.run import Run
from gossamer.simulation.runner import Recorded
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.stack import Stack
from gossamer.simulation.status import Status
from gossamer.simulation.store import Store
from gossamer.simulation.sweep_record import Sweep
from gossamer.simulation.table import Table

__all__ = [
    "COSTS",
    "METRICS",
    "Clock",
    "Comparison",
    "Entry",
    "Halving",
    "Metric",
    "OnTheEdge",
    "Recorded",
    "Run",
    "Stack",
    "Status",
    "Store",
    "Sweep",
    "Table",
    "Tuned",
    "available_metrics",
    "check_method",
    "compare",
    "grid_settings",
    "main_metric",
    "metric",
    "search_set",
    "side_by_side",
    "simulate",
    "stack_settings",
    "sweep",
    "tune",
]
