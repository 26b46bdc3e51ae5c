"""All methods on two problems, for the pages: `python docs/scripts/compare.py`, five minutes.

Follows `gossamer run ring-noise` of the quick study (ring, noises, steps, seeds, search sets), for
every method, on two problems: the study's, whose nodes hold samples of one law, and one whose nodes
disagree. Writes docs/results/methods.json, of which docs/scripts/from_results.py makes the tables.
"""

import json
import math
import os
import platform
import time
from pathlib import Path
from typing import Any

from gossamer.experiments.store import commit
from gossamer.studies.synthetic.synthetic import (
    NETWORKS,
    NODES,
    NOISES,
    SEARCH_DTYPE,
    fresh_seeds,
    problem,
    steps,
    tuning_seeds,
)

import gossamer as gs
from gossamer.experiments import Options
from gossamer.simulation.run import versions
from gossamer.studies.synthetic.grids import SYNTHETIC, Grid, search_set

RING, OPTIONS = NETWORKS["ring"], Options()

PROBLEMS: dict[str, gs.Problem] = {
    "alike": problem(OPTIONS),
    "different": gs.Quadratic(NODES, 20, spread=10.0),
}
"""Nodes with samples of one law, and nodes whose optima lie some 10 apart in every coordinate."""

METHODS: dict[str, tuple[type[gs.Algorithm[Any]], Grid]] = SYNTHETIC | {
    name: (algorithm, search_set(algorithm))
    for name, algorithm in gs.ALGORITHMS.items()
    if algorithm not in [known for known, _ in SYNTHETIC.values()]
}
"""Those of the study, then the others, with sets made of those of their hyper-parameters."""


def compare(method: str, task: gs.Problem, noise: gs.Noise) -> dict[str, Any]:
    """Tune on the tuning seed, report on the fresh seeds, and count the settings that would do."""
    algorithm, grid = METHODS[method]
    arguments: dict[str, Any] = {"noise": noise, "steps": steps(OPTIONS), "metrics": ["error"]}
    seeds = tuning_seeds(OPTIONS)
    found = gs.sweep(algorithm, grid, task, RING, seeds=seeds, dtype=SEARCH_DTYPE, **arguments)
    chosen = found.best().hyperparameters
    run = gs.simulate(algorithm(**chosen), task, RING, seeds=fresh_seeds(OPTIONS), **arguments)
    scores, start = found.scores(), float(run.metrics["error"][0, 0])
    return {
        "hyperparameters": chosen,
        "initial": start,
        "errors": [e if math.isfinite(e) else None for e in run.final().tolist()],
        "settings": len(scores),
        "good": int((scores <= 2 * scores.min()).sum()),
        "useless": int((scores > start).sum()),
    }


def comparison() -> dict[str, Any]:
    """Method → problem → noise → how it did."""
    return {
        method: {
            "class": algorithm.__name__,
            **{
                name: {law: compare(method, task, noise) for law, noise in NOISES.items()}
                for name, task in PROBLEMS.items()
            },
        }
        for method, (algorithm, _) in METHODS.items()
    }


def made() -> dict[str, Any]:
    """When, where and with what."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    return {"date": time.strftime("%F"), "commit": commit(), "machine": machine, **versions()}


if __name__ == "__main__":
    found = json.dumps({"made": made(), "methods": comparison()}, indent=1, ensure_ascii=False)
    path = Path(__file__).parent.parent / "results" / "methods.json"
    path.write_text(found + "\n", encoding="utf-8")
