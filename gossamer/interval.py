"""An interval as an admissible set, and the check that a number lies in it."""

import math
import numbers
from dataclasses import dataclass

import torch
from torch import Tensor

from gossamer.errors import require


@dataclass(frozen=True)
class Interval:
    """The admissible set of a number: an interval whose ends belong to it only if they are closed.

    `POSITIVE` is (0, ∞), `NONNEGATIVE` [0, ∞), `FINITE` (−∞, ∞), `FRACTION` [0, 1) and `SHARE`
    (0, 1].

    >>> 0.5 in Interval(0, 1), 1 in Interval(0, 1), 1 in Interval(0, 1, closed_high=True)
    (True, False, True)
    """

    low: float
    high: float
    closed_low: bool = False
    closed_high: bool = False

    def __contains__(self, value: object) -> bool:
        """Whether a number, or every entry of a tensor, is inside; nothing else is, nor a bool."""
        if isinstance(value, Tensor):
            return value.numel() == 0 or all(float(end) in self for end in value.aminmax())
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # an integer beyond all floats
            return False
        above = number >= self.low if self.closed_low else number > self.low
        return above and (number <= self.high if self.closed_high else number < self.high)

    def begins_at(self, value: float | Tensor) -> bool:
        """Whether `value` is the smallest admissible number."""
        return self.closed_low and bool(torch.as_tensor(value == self.low).all())

    def __str__(self) -> str:
        first, last = "[" if self.closed_low else "(", "]" if self.closed_high else ")"
        high = "∞" if math.isinf(self.high) else f"{self.high:g}"
        low = "-∞" if math.isinf(self.low) else f"{self.low:g}"
        return f"a number in {first}{low}, {high}{last}"


POSITIVE = Interval(0, math.inf)
"""(0, ∞)."""
NONNEGATIVE = Interval(0, math.inf, closed_low=True)
"""[0, ∞)."""
FINITE = Interval(-math.inf, math.inf)
"""All numbers but the infinite ones."""
FRACTION = Interval(0, 1, closed_low=True)
"""[0, 1): a share that may be nothing, but not all."""
SHARE = Interval(0, 1, closed_high=True)
"""(0, 1]: a share that may be all, but not nothing."""


def within(name: str, value: object, interval: Interval, way_out: str = "") -> float:
    """Returns `value` as a float; refuses it unless it is a number in the interval.

    >>> within("share", 1, SHARE)
    1.0
    >>> within("probability", "10%", FRACTION, "0.1 loses one message in ten")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: probability: got '10%', need a number in [0, 1); 0.1 loses one ...
    """
    number = isinstance(value, numbers.Real)
    found = value if number else repr(value)
    require(number and value in interval, name, found, str(interval), way_out)
    return float(value)  # type: ignore[arg-type]  # a number, as just required
