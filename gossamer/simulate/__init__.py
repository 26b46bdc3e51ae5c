"""The simulator: one loop over stacked nodes and runs, sweeps, metrics and results."""

from gossamer.simulate.halving import Halving
from gossamer.simulate.metrics import METRICS, available_metrics
from gossamer.simulate.run import Run
from gossamer.simulate.simulate import simulate
from gossamer.simulate.stack import Stack
from gossamer.simulate.sweep import Sweep, grid_settings, sweep

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
