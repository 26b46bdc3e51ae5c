"""Tables and verdicts of the stored study, results/full, for the pages.

    gossamer run synthetic theory methods --size full --out results
    gossamer run language --size full --device cuda --out results

What is stored already costs nothing. Of an experiment that cannot be read yet, the pages say so.
docs/scripts/from_results.py makes the tables of the site from what is gathered; none is typed.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gossamer.experiments import Options, Results, Table, Verdict, Work
from gossamer.studies import EXPERIMENTS

DOCS = Path(__file__).parent.parent


class NotStored(LookupError):
    """An experiment that is not in results/full, by its name."""


@dataclass(frozen=True)
class Gathered:
    """An experiment as the report shows it."""

    results: Results

    made: list[dict[str, Any]]
    """How each of its results was made."""

    tables: list[Table]
    verdicts: list[Verdict]


@cache
def gathered(name: str) -> Gathered:
    """What is stored of an experiment; refused where that is too little to read."""
    experiment = EXPERIMENTS[name]
    work = Work.below(DOCS.parent / "results", experiment, Options("full"))
    records = work.stored()
    results = {unit: record.result for unit, record in records.items()}
    if not experiment.readable(results, work.units):
        raise NotStored(name)
    made = [record.made for record in records.values()]
    return Gathered(results, made, experiment.tables(results), experiment.verdicts(results))
