"""Running an experiment: the units that are not stored yet, one after the other."""

import time
from collections.abc import Callable

from gossamer.experiments.experiment import Experiment, Options
from gossamer.experiments.store import Store

Notify = Callable[[str, int, int], None]
"""Called as notify(unit name, units done, units in all)."""


def run_experiment(
    experiment: Experiment,
    options: Options,
    store: Store,
    *,
    notify: Notify = lambda name, done, total: None,
) -> int:
    """Compute and store what is missing; returns how many units were computed.

    Interrupted at any moment, it loses only the unit in progress and goes on there next time.
    """
    units = experiment.units(options)
    missing = store.missing(experiment, options)
    store.folder(experiment)  # a folder that cannot be made is found out before the work
    for done, unit in enumerate(missing, start=len(units) - len(missing)):
        notify(unit.name, done, len(units))
        start = time.perf_counter()
        result = unit.compute()
        store.save(experiment, unit, result, time.perf_counter() - start)
    return len(missing)
