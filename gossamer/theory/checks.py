"""What the theorems assume of their numbers, refused with a reason where it fails."""

import math

from gossamer.interval import FRACTION, Interval, within


def require_p(p: float) -> None:
    """Refuse an order outside (1, 2]."""
    way_out = "at 1 or below the noise has no mean; light tails have p = 2"
    within("p", p, Interval(1, 2, closed_high=True), way_out)


def require_steps(steps: float) -> None:
    """Refuse a horizon on which the momentum rule gives β = 0."""
    way_out = "T = 1 would make the momentum 0"
    within("steps", steps, Interval(2, math.inf, closed_low=True), way_out)


def require_lam(lam: float) -> None:
    """Refuse a network that does not average."""
    way_out = "λ = 1 never averages: connect the graph, or give every node a weight on itself"
    within("lam", lam, FRACTION, way_out)
