"""A setting that trains: a rule of thumb beside the theorems' parameters."""

from gossamer.algorithms import GTNSGDm
from gossamer.theory.checks import require_positive, require_steps

REACH = 5.0
"""αT in units of the distance to go."""

MOMENTUM = 0.9
"""β."""


def practical_rule(steps: float, distance: float) -> GTNSGDm:
    """GT-NSGDm with α = 5 ‖x⁰ − x*‖/T and β = 0.9: a rule of thumb, not a theorem's.

    Every step has length at most α, so that a run can reach no point further than αT from its
    start. The theorems' α, made for the worst case, often reaches only part of the way; this one
    reaches five times as far, because noise and curvature turn most steps aside. The explicit
    `bound` holds for it as for any α and β, but no rate does. In 36 cases (problems × networks ×
    noises × horizons), some of which chose its constants, it ends within a factor of two of the
    best of 30 settings; under noise far louder than the gradients it can fail (docs/theory.md).
    Where you can afford a search, search around it.

    Args:
        steps: T.
        distance: ‖x⁰ − x*‖, e.g. from `estimate_distance`.

    >>> practical_rule(10_000, distance=4.0)
    GTNSGDm(lr=0.002, momentum=0.9)
    """
    require_steps(steps)
    require_positive("distance", distance, "at distance 0 nothing is to be done")
    return GTNSGDm(lr=REACH * distance / steps, momentum=MOMENTUM)
