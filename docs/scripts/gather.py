"""Tables and verdicts of the stored study, for the pages: results/full → docs/results/study.json.

    gossamer run all --full --out results        half an hour; what is stored already costs nothing
    python docs/scripts/gather.py                a second

Experiments that are not complete are left out, and so are their places in the pages. The tables of
the site are made by docs/scripts/from_results.py from what is gathered; none is typed.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gossamer.experiments import EXPERIMENTS, Experiment, Options, Store

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
    records = [json.loads(path.read_text(encoding="utf-8"))["made"] for path in paths]
    return max(records, key=lambda record: record["time"])


def momenta() -> dict[str, Any]:
    """Noise → the momenta of the grid and of the two rules, the step size tuned for each."""
    found = STORE.results(EXPERIMENTS["auto-momentum"], OPTIONS) or {}
    rows = ("momenta", "lr", "errors")
    return {noise: {row: result[row] for row in rows} for noise, result in found.items()}


def write(name: str, content: object) -> None:
    """Write docs/results/`name`.json."""
    path = DOCS / "results" / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    study = {name: gather(experiment) for name, experiment in EXPERIMENTS.items()}
    write("study", {name: found for name, found in study.items() if found} | {"momenta": momenta()})
