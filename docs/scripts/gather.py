"""Tables and verdicts of the stored study, results/full, for the pages.

    gossamer run all --full --out results        half an hour; what is stored already costs nothing
    gossamer run language --full --device cuda --out results

Experiments that cannot be read yet are left out, and so are their places in the pages. The tables
of the site are made by docs/scripts/from_results.py from what is gathered; none is typed.
"""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from gossamer.experiments import Experiment, Options, Store
from gossamer.studies import EXPERIMENTS

DOCS = Path(__file__).parent.parent
OPTIONS = Options(full=True)
STORE = Store(DOCS.parent / "results" / OPTIONS.profile)


def gather(experiment: Experiment) -> dict[str, Any] | None:
    """Tables and verdicts of an experiment, as the report shows them, and how they were made."""
    results = STORE.results(experiment, OPTIONS)
    if results is None:
        return None
    return {
        "made": made(experiment),
        "tables": [asdict(table) for table in experiment.tables(results)],
        "verdicts": [asdict(verdict) for verdict in experiment.verdicts(results)],
    }


def made(experiment: Experiment) -> dict[str, str]:
    """Date, commit and versions of the unit that was stored last."""
    paths = [STORE.path(experiment, unit) for unit in experiment.units(OPTIONS)]
    stored = [path.read_text(encoding="utf-8") for path in paths if path.exists()]
    records = [json.loads(text)["made"] for text in stored]
    return max(records, key=lambda record: record["time"])


def momenta() -> dict[str, Any]:
    """Noise → the momenta of the grid and of the two rules, the step size tuned for each."""
    found = STORE.results(EXPERIMENTS["auto-momentum"], OPTIONS) or {}
    rows = ("momenta", "lr", "errors")
    return {noise: {row: result[row] for row in rows} for noise, result in found.items()}


@cache
def study() -> dict[str, Any]:
    """Experiment → what was gathered of it; and the momenta."""
    found = {name: gather(experiment) for name, experiment in EXPERIMENTS.items()}
    return {name: kept for name, kept in found.items() if kept} | {"momenta": momenta()}
