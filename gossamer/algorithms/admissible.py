"""What a hyper-parameter may be: admissible sets, stated in the annotations of a dataclass."""

import dataclasses
import math
import numbers
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from torch import Tensor

from gossamer.errors import require
from gossamer.interval import FINITE, FRACTION, NONNEGATIVE, POSITIVE, Interval

Scalar = float | Tensor
"""A hyper-parameter: a number, or a tensor that broadcasts over the runs axis as `(runs, 1)`."""


@dataclass(frozen=True)
class Integers:
    """The admissible set of an integer hyper-parameter, the integers from `low` to `high`."""

    low: int
    high: float = math.inf

    def __contains__(self, value: object) -> bool:
        counts = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return counts and self.low <= int(value) <= self.high  # type: ignore[call-overload]

    def __str__(self) -> str:
        no_end = math.isinf(self.high)
        return f"an integer {f'≥ {self.low}' if no_end else f'from {self.low} to {self.high}'}"


@dataclass(frozen=True)
class OneOf:
    """The admissible set of a hyper-parameter that is a string or a bool, one of `options`."""

    options: tuple[Any, ...]

    def __contains__(self, value: object) -> bool:
        return any(type(value) is type(one) and value == one for one in self.options)

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.options))


AdmissibleSet = Interval | Integers | OneOf

Positive = Annotated[Scalar, POSITIVE]
StepSize = Annotated[Scalar, NONNEGATIVE]  # schedules pass through 0
Fraction = Annotated[Scalar, FRACTION]
Real = Annotated[Scalar, FINITE]
Count = Annotated[int, Integers(1)]

Order = Literal["adapt-then-combine", "combine-then-adapt"]


@cache
def admissible_sets(kind: type[Any]) -> dict[str, AdmissibleSet]:
    """Field name → its admissible set, of a dataclass whose annotations state them.

    >>> from gossamer.algorithms import GTNSGDm
    >>> print(admissible_sets(GTNSGDm)["momentum"])
    a number in [0, 1)
    """
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: _admissible(name, hints[name]) for name in names}


def _admissible(name: str, hint: Any) -> AdmissibleSet:
    if get_origin(hint) is Literal:
        return OneOf(get_args(hint))
    if hint is bool:
        return OneOf((False, True))
    stated = getattr(hint, "__metadata__", ())
    sets = [extra for extra in stated if isinstance(extra, Interval | Integers)]
    need = "an admissible set, e.g. Positive, Fraction, Real or Count of gossamer.algorithms, a "
    need += "Literal of words, or bool"
    require(len(sets) == 1, name, f"the annotation {hint}", need)
    return sets[0]
