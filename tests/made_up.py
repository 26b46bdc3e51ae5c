"""Results made up by hand, in the form in which experiments store theirs, and of small runs."""

import copy
import json
from collections.abc import Sequence
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

from matplotlib.figure import Figure

from gossamer.experiments import Experiment, Options, Verdict, Work
from gossamer.studies import EXPERIMENTS
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.task import NOISES

INITIAL = 4.0


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
