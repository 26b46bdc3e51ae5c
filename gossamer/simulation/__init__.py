"""The simulator: one loop over stacked nodes and runs, sweeps, metrics and results."""

from gossamer.simulation._simulate import simulate
from gossamer.simulation._sweep import Sweep, grid_settings, sweep
from gossamer.simulation.halving import Halving
from gossamer.simulation.metrics import METRICS, available_metrics
from gossamer.simulation.run import Run
from gossamer.simulation.stack import Stack

__all__ = [
    "METRICS",
    "Halving",
    "Run",
    "Stack",
    "Sweep",
    "available_metrics",
    "grid_settings",
    "simulate",
    "sweep",
]
