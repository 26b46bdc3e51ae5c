"""What is said of an experiment: tables, and statements beside what we measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Holds = Literal["yes", "partly", "no"]


@dataclass(frozen=True)
class Verdict:
    """One statement or number of the paper beside what we measured."""

    statement: str
    """What the paper says, or the expectation, quoted or close to it."""

    ours: str
    """What we measured, with its spread."""

    holds: Holds

    note: str = ""
    """Why, and under which reading it does hold."""


@dataclass(frozen=True)
class Table:
    """Rows beside a figure: chosen hyper-parameters, final errors, costs."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def judge(*conditions: bool) -> Holds:
    """All of them, some of them, none of them.

    >>> judge(True, False)
    'partly'
    """
    return "yes" if all(conditions) else "partly" if any(conditions) else "no"
