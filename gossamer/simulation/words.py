"""Numbers, hyper-parameters and whole records as people read them."""

import math
import re
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from gossamer.algorithms import Schedule
from gossamer.digests import digest
from gossamer.errors import choice
from gossamer.text import listing

Center = Literal["median", "mean"]
"""What stands for many seeds: the median beside the range, or the mean ± standard deviation."""

SPREADS: dict[Center, str] = {"median": "median [range]", "mean": "mean ± deviation"}


def recorded_metric(metric: str, recorded: Iterable[str]) -> str:
    """Returns `metric` if it is one of those `recorded`; otherwise refuses it."""
    return choice("metric", metric, recorded, f"to record it, pass e.g. metrics=[{metric!r}]")


def digits_apart(numbers: Iterable[float]) -> int:
    """How many digits of each to print: three, or as many as tell them apart, up to six.

    >>> digits_apart([0.5, 0.25]), digits_apart([16.613, 1.0, 16.612])
    (3, 5)
    >>> digits_apart([0.25, 0.25 + 1e-9])  # equal up to rounding
    3
    """

    def least(one: float, other: float) -> int:
        return next((d for d in range(3, 7) if f"{one:.{d}g}" != f"{other:.{d}g}"), 3)

    return max((least(*pair) for pair in pairwise(sorted(numbers))), default=3)


def spread(values: Sequence[float], center: Center = "median", digits: int = 3) -> str:
    """Median and range over the seeds, or mean and deviation; divergence is written out.

    >>> spread([0.35, 0.28, 0.31]), spread([0.3, math.inf, math.nan])
    ('0.31 [0.28, 0.35]', 'diverged on 2 of 3 seeds')
    >>> spread([0.35, 0.28, 0.31], "mean")
    '0.313 ± 0.0351'
    """
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return f"diverged on {len(values) - len(finite)} of {len(values)} seeds"
    if center == "mean":
        return f"{statistics.fmean(values):.{digits}g} ± {deviation(values):.3g}"
    numbers = (statistics.median(values), min(values), max(values))
    middle, low, high = (f"{number:.{digits}g}" for number in numbers)
    return f"{middle} [{low}, {high}]"


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of the law that the values are drawn from; 0 of a single one."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def show_hyperparameters(values: Mapping[str, Any]) -> str:
    """The hyper-parameters of a method, which leaves out words that are the default.

    >>> show_hyperparameters({"lr": 0.01, "momentum": 0.6, "order": "combine-then-adapt"})
    'lr = 0.01, momentum = 0.6, order = combine-then-adapt'
    >>> from gossamer.algorithms import Cosine
    >>> show_hyperparameters({"lr": Cosine(0.1, 1000), "nesterov": True})
    'lr = Cosine(0.1, 1000), nesterov = True'
    """
    return ", ".join(f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"one of {len(value)} per run"
    return str(value) if isinstance(value, bool | str | Schedule) else f"{value:g}"


def show_repeats(keys: Sequence[Hashable]) -> list[str]:
    """What tells equal keys apart: nothing for the first, then numbers.

    >>> show_repeats(["DSGD", "GT-DSGD", "DSGD", "DSGD"])
    ['', '', ' #2', ' #3']
    """
    counts = [keys[: at + 1].count(key) for at, key in enumerate(keys)]
    return ["" if count == 1 else f" #{count}" for count in counts]


def show_list(numbers: Sequence[float]) -> str:
    """Numbers, the last after "and".

    >>> show_list([5e-6]), show_list([50.0, 100.0, 500.0])
    ('5e-06', '50, 100 and 500')
    """
    return listing([f"{number:g}" for number in numbers])


def show_bytes(count: float) -> str:
    """In the unit that suits; a dash for what was never sent to the end.

    >>> show_bytes(800), show_bytes(25600), show_bytes(3.21e12), show_bytes(math.inf)
    ('800 B', '25.6 kB', '3.21 TB', '–')
    """
    if not math.isfinite(count):
        return "–"
    power = min(4, int(math.log10(max(count, 1)) + 1e-9) // 3)
    return f"{count / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def show_count(count: float) -> str:
    """Whole or with three digits; a dash for what never came to its end.

    >>> show_count(1200.0), show_count(33.33333), show_count(math.inf)
    ('1,200', '33.3', '–')
    """
    if not math.isfinite(count):
        return "–"
    return f"{count:,.0f}" if count >= 1000 or count == round(count) else f"{count:.3g}"


def show_seconds(seconds: float) -> str:
    """With three digits, or whole from a thousand on; a dash for a run that did not end.

    >>> show_seconds(2.10642), show_seconds(86400.0), show_seconds(math.inf)
    ('2.11', '86,400', '–')
    """
    if not math.isfinite(seconds):
        return "–"
    return f"{seconds:,.0f}" if seconds >= 1000 else f"{seconds:.3g}"


def show_call(facts: Mapping[str, Any]) -> str:
    """What `describe` says, as a call; lists and dictionaries are left out.

    >>> show_call({"name": "StudentT", "df": 1.5, "centers": [[0.0], [1.0]]})
    'StudentT(df=1.5)'
    """
    short = {k: v for k, v in facts.items() if not isinstance(v, list | dict) and k != "name"}
    told = ", ".join(f"{name}={_named(value)}" for name, value in short.items())
    return f"{facts.get('name', 'unnamed')}({told})"


def _named(value: Any) -> Any:
    """Of a function's code, its name and what tells it from other code of this name.

    >>> _named("def tilted(x):\\n    return x.sum()"), _named(1.5)
    ('tilted@32602d', 1.5)
    """
    name = re.match(r"def (\w+)", value) if isinstance(value, str) else None
    return value if name is None else f"{name[1]}@{digest(value)[:6]}"


def lines(title: str, facts: Mapping[str, str]) -> str:
    """A title, then a line per fact, the facts one below the other.

    >>> print(lines("DSGD (lr = 0.1)", {"steps": "100", "network": "ring(4)"}))
    DSGD (lr = 0.1)
      steps    100
      network  ring(4)
    """
    width = max(map(len, facts), default=0)
    return "\n".join([title, *(f"  {name:{width}}  {fact}" for name, fact in facts.items())])
