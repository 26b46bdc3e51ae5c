"""Numbers, hyper-parameters and whole records as people read them."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.algorithms import Schedule


def spread(values: Sequence[float]) -> str:
    """Median and range over the seeds; divergence is written out.

    >>> spread([0.35, 0.28, 0.31]), spread([0.3, math.inf, math.nan])
    ('0.31 [0.28, 0.35]', 'diverged on 2 of 3 seeds')
    """
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return f"diverged on {len(values) - len(finite)} of {len(values)} seeds"
    return f"{statistics.median(values):.3g} [{min(values):.3g}, {max(values):.3g}]"


def show_hyperparameters(values: Mapping[str, Any]) -> str:
    """The numbers and schedules; words such as the order are left out.

    >>> show_hyperparameters({"lr": 0.01, "momentum": 0.6, "order": "adapt-then-combine"})
    'lr = 0.01, momentum = 0.6'
    >>> from gossamer.algorithms import Cosine
    >>> show_hyperparameters({"lr": Cosine(0.1, 1000), "nesterov": True})
    'lr = Cosine(0.1, 1000), nesterov = True'
    """
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    return ", ".join(f"{name} = {_number(value)}" for name, value in numbers.items())


def _number(value: Any) -> str:
    if isinstance(value, list):
        return f"one of {len(value)} per run"
    return str(value) if isinstance(value, bool | Schedule) else f"{value:g}"


def show_bytes(count: float) -> str:
    """In the unit that suits; a dash for what was never sent to the end.

    >>> show_bytes(800), show_bytes(25600), show_bytes(3.21e12), show_bytes(math.inf)
    ('800 B', '25.6 kB', '3.21 TB', '–')
    """
    if not math.isfinite(count):
        return "–"
    power = min(4, int(math.log10(max(count, 1)) + 1e-9) // 3)
    return f"{count / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


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
    return f"{facts.get('name', 'unnamed')}({', '.join(f'{k}={v}' for k, v in short.items())})"


def lines(title: str, facts: Mapping[str, str]) -> str:
    """A title, then a line per fact, the facts one below the other.

    >>> print(lines("DSGD (lr = 0.1)", {"steps": "100", "network": "ring(4)"}))
    DSGD (lr = 0.1)
      steps    100
      network  ring(4)
    """
    width = max(map(len, facts), default=0)
    return "\n".join([title, *(f"  {name:{width}}  {fact}" for name, fact in facts.items())])
