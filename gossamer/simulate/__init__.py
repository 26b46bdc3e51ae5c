"""The simulator: one loop over stacked nodes and runs, sweeps, metrics and results."""

from gossamer.simulate.metrics import METRICS, available_metrics
from gossamer.simulate.run import Run
from gossamer.simulate.simulate import simulate
from gossamer.simulate.stack import Stack
from gossamer.simulate.sweep import Sweep, sweep

__all__ = ["METRICS", "Run", "Stack", "Sweep", "available_metrics", "simulate", "sweep"]
