"""Does halving find what the full grid finds? On the task of examples/own_comparison.py.

    python benchmarks/halving.py      about a minute; ends with 1 where a choice is not good enough

For each of the five methods the full grid is run to the end on the seeds of the search. The setting
that halving chose is looked up in it: how far is it from the grid's best, and of what rank?
"""

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import gossamer as gs
from gossamer.simulation.search_sets import search_set
from gossamer.simulation.tuning_seeds import default_tuning_seeds

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from own_comparison import METHODS, STEPS, task

GOAL = 0.02
"""How much worse than the grid's best a choice may be."""


def searched(method: type[gs.Algorithm[Any]], strategy: Any) -> gs.Sweep:
    problem, network, noise = task()
    how = {"noise": noise, "steps": STEPS, "seeds": default_tuning_seeds(), "strategy": strategy}
    return gs.sweep(method, search_set(method), problem, network, **how)


def main() -> None:
    table = Table("method", "settings", "run-steps of the grid", "share", "worse by", "rank")
    missed = []
    for method in METHODS:
        grid, halved = searched(method, "grid"), searched(method, "halving")
        scores, chosen = grid.scores(), int(halved.scores().argmin())
        worse = float(scores[chosen] / scores.min() - 1)
        rank, share = int((scores < scores[chosen]).sum()) + 1, halved.run_steps / grid.run_steps
        cells = (len(scores), f"{grid.run_steps:,}", f"{share:.0%}", f"{worse:.2%}", rank)
        table.add_row(method.label, *map(str, cells))
        missed += [method.label] * (worse > GOAL)
    Console(width=100).print(table)
    sys.exit(f"more than {GOAL:.0%} worse: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
