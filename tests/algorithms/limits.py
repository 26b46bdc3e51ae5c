"""What tests of one method share: runs under heavy-tailed noise, and errors without noise."""

from typing import Any

from torch import Tensor

import gossamer as gs

RING = gs.ring(5)
HEAVY = gs.StudentT(df=1.5, scale=0.1)
DIFFERENT = gs.Quadratic(5, 4, condition=3.0, spread=10.0, seed=0)


def run(method: gs.Algorithm[Any]) -> Tensor:
    """Where a run of 60 steps under heavy-tailed noise ends."""
    return gs.simulate(method, DIFFERENT, RING, noise=HEAVY, steps=60, seeds=[0, 1]).x


def errors(method: gs.Algorithm[Any], steps: int) -> tuple[float, float]:
    """The mean distance from the optimum at first and in the end, without noise."""
    found = gs.simulate(method, DIFFERENT, RING, steps=steps, metrics=["error"]).metrics["error"]
    return float(found[0, 0]), float(found[-1, 0])
