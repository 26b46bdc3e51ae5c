"""Results made up by hand, in the form in which experiments store theirs, and of small runs."""

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure

from gossamer.experiments import Experiment, Options, Verdict, Work
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.task import NOISES

DOCS = Path(__file__).parents[1] / "docs"

INITIAL = 4.0

THROWN = [0.2, 0.2, 2.1]
"""Two seeds arrive, one ends above half of its initial error."""

Changed = Mapping[str, Sequence[float]]
"""Unit, or the end of its name after a comma → errors with which it ends instead."""


def at_test_size(experiment: Experiment[Any]) -> dict[str, Any]:
    """What the experiment's units give at the size "test", computed, stored and read once."""
    return copy.deepcopy(_computed(experiment.name))


def one_of_each_kind(experiment: Experiment[Any]) -> dict[str, Any]:
    """At the size "test", but a kind of unit is computed once, and stands for all of its kind."""
    units = experiment.units(experiment.sizes["test"], 0)
    kinds = {type(unit): unit for unit in units}
    found = {kind: json.loads(json.dumps(unit.run("cpu"))) for kind, unit in kinds.items()}
    return {unit.name: copy.deepcopy(found[type(unit)]) for unit in units}


def draw(figure: Figure) -> None:
    """Draw all of it; finding a layout takes most of the time and is the same for every figure."""
    figure.set_layout_engine("none")
    figure.draw_without_rendering()


@cache
def _computed(name: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        work = Work.below(folder, EXPERIMENTS[name], Options("test"))
        work.run()
        results = work.results()
        assert results is not None
        return dict(results)


def curve(final: float | Sequence[float], middle: float = 1.5) -> dict[str, Any]:
    """Five seeds from `INITIAL` through `middle` at step 50 to `final` at step 100."""
    seeds = [final] * 5 if isinstance(final, int | float) else list(final)
    return {"steps": [0, 50, 100], "error": [[INITIAL] * 5, [middle] * 5, seeds]}


def tuned(
    final: float | Sequence[float], halving: float | None = None, cost: int = 30
) -> dict[str, Any]:
    """A method tuned, with 100 run-steps of the grid and `cost` of halving."""
    chosen = {"hyperparameters": {"lr": 0.01}, "tuning_error": 0.1}
    return {
        "grid": {**chosen, "run_steps": 100, **curve(final)},
        "halving": {
            **chosen,
            "run_steps": cost,
            **curve(final if halving is None else halving),
        },
    }


def ring_noise(
    changed: dict[str, dict[str, Any]] | None = None, final: float = 0.2
) -> dict[str, Any]:
    """Every method ends at `final` under every noise, but for those in `changed`."""
    results = {f"{noise} {method}": tuned(final) for noise in NOISES for method in SYNTHETIC}
    return results | (changed or {})


def verdict(verdicts: Sequence[Verdict], words: str) -> Verdict:
    """The one verdict whose statement contains these words."""
    (found,) = [v for v in verdicts if words in v.statement]
    return found


@dataclass(frozen=True)
class MadeUp:
    """A study of tuned methods, judged by results that are made up."""

    study: Experiment[Any]
    names: Sequence[str]
    result: Callable[[list[float]], dict[str, Any]]
    """Final errors → what a unit that ends with them has found."""

    def made(self, changed: Changed | None = None) -> dict[str, Any]:
        """Every unit ends at 0.2, but for those that `changed` names; its last word counts."""
        return {name: self.result(_ends(name, changed or {})) for name in self.names}

    def judged(self, words: str, changed: Changed | None = None) -> Verdict:
        """The verdict with these words."""
        return verdict(self.study.verdicts(self.made(changed)), words)

    def rows(self, title: str, changed: Changed | None = None) -> dict[str, list[str]]:
        """First cell → the others, of the table whose title begins so."""
        tables = self.study.tables(self.made(changed))
        (table,) = [table for table in tables if table.title.startswith(title)]
        return {row[0]: list(row[1:]) for row in table.rows}

    def named_on(self, page: str) -> list[int]:
        """How many titles contain the words of each marker on a page; 0 would leave a hole."""
        text = (DOCS / page).read_text(encoding="utf-8")
        named = re.findall(rf"^\[\[experiment {self.study.name} ([^:]+):", text, re.MULTILINE)
        titles = [table.title for table in self.study.tables(self.made())]
        return [sum(words in title for title in titles) for words in named]


def _ends(name: str, changed: Changed) -> list[float]:
    errors = [e for key, e in changed.items() if f", {name}".endswith(f", {key}")]
    return list(errors[-1]) if errors else [0.2, 0.2, 0.2]
