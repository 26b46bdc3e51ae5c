"""What the theorems assume of their numbers, refused with a reason where it fails."""

import math

from gossamer.errors import require


def require_p(p: float) -> None:
    """Refuse an order outside (1, 2]."""
    way_out = "at 1 or below the noise has no mean; light tails have p = 2"
    require(1 < p <= 2, "p", p, "a number in (1, 2]", way_out)


def require_steps(steps: float) -> None:
    """Refuse a horizon on which the momentum rule gives β = 0."""
    way_out = "T = 1 would make the momentum 0"
    require(2 <= steps < math.inf, "steps", steps, "a finite number ≥ 2", way_out)


def require_lam(lam: float) -> None:
    """Refuse a network that does not average."""
    way_out = "λ = 1 never averages: connect the graph, or give every node a weight on itself"
    require(0 <= lam < 1, "lam", lam, "a number in [0, 1)", way_out)


def require_positive(name: str, value: float, way_out: str = "") -> None:
    """Refuse what is not a finite positive number."""
    require(0 < value < math.inf, name, value, "a finite positive number", way_out)


def require_nonnegative(name: str, value: float, way_out: str = "") -> None:
    """Refuse what is not a finite number ≥ 0."""
    require(0 <= value < math.inf, name, value, "a finite number ≥ 0", way_out)
