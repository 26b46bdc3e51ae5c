"""Tables and verdicts of the stored study, results/full, for the pages.

    gossamer run synthetic theory --size full --out results       half an hour
    gossamer run language --size full --device cuda --out results

What is stored already costs nothing. Experiments that cannot be read yet are left out, and so are
their places in the pages. The tables of the site are made by docs/scripts/from_results.py from what
is gathered; none is typed.
"""

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from gossamer.experiments import Experiment, Options, Work
from gossamer.studies import EXPERIMENTS

DOCS = Path(__file__).parent.parent


def work_of(experiment: Experiment[Any]) -> Work:
    """The experiment as it is stored."""
    return Work.below(DOCS.parent / "results", experiment, Options("full"))


def gather(experiment: Experiment[Any]) -> dict[str, Any] | None:
    """Tables and verdicts of an experiment, as the report shows them, and how they were made."""
    work = work_of(experiment)
    records = work.stored()
    results = {name: record.result for name, record in records.items()}
    if not experiment.readable(results, work.units):
        return None
    return {
        "made": max((record.made for record in records.values()), key=lambda made: made["time"]),
        "tables": [asdict(table) for table in experiment.tables(results)],
        "verdicts": experiment.verdicts(results),
    }


def momenta() -> dict[str, Any]:
    """Noise → the momenta of the grid and of the two rules, the step size tuned for each."""
    found = work_of(EXPERIMENTS["auto-momentum"]).results() or {}
    rows = ("momenta", "lr", "errors")
    return {noise: {row: result[row] for row in rows} for noise, result in found.items()}


@cache
def study() -> dict[str, Any]:
    """Experiment → what was gathered of it; and the momenta."""
    found = {name: gather(experiment) for name, experiment in EXPERIMENTS.items()}
    return {name: kept for name, kept in found.items() if kept} | {"momenta": momenta()}
