"""How the Transformer experiments tune a method before they train with it."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from gossamer.algorithms import Algorithm
from gossamer.experiments.experiment import Options, Result, Unit
from gossamer.networks import Network, complete
from gossamer.simulation import Halving, Sweep, sweep
from gossamer.studies.language.language import (
    NETWORKS,
    RECORDS,
    Task,
    curves,
    data_facts,
    machine,
    problem,
    simulation,
    steps_of,
    task_of,
    train,
)
from gossamer.studies.synthetic.grids import TRANSFORMER, Settings
from gossamer.studies.synthetic.synthetic import fresh_seeds

ENDED_EARLY = ((1 / 8, 0.6), (1 / 4, 0.45))
"""Share of T, share of the settings that goes on in a search."""

ENDED_EARLY_OF_HUNDREDS = ((1 / 16, 0.5), (1 / 8, 0.3), (1 / 4, 0.15))
"""The same for a set of hundreds of settings."""

HUNDREDS = 100
FINALISTS = 3
"""Settings of the search on one node that are compared on the ring."""


def tuning_seeds(options: Options) -> list[int]:
    """The seed that hyper-parameters are chosen on, never reported."""
    return [1000 * options.seed + 500]


def searched(options: Options, settings: Settings) -> Settings:
    """The settings to try: all, or at most eight of them, evenly spread, in the quick study."""
    return settings if options.full else settings[:: -(-len(settings) // 8)]


Search = Callable[[type[Algorithm[Any]], Settings, Task, Options], Result]
"""Tries settings and says which `hyperparameters` to train with, and what that cost."""


def tuned_unit(
    name: str,
    method: str,
    task: Task,
    networks: Mapping[str, Network],
    options: Options,
    facts: Result,
    search: Search,
) -> Unit:
    """A method tuned and then trained on every network; `facts` complete its configuration."""
    algorithm, settings = TRANSFORMER[method]
    settings = searched(options, settings)
    config = {
        **data_facts(options),
        **facts,
        "method": method,
        "settings": settings,
        "task": vars(task_of(options, task)),
        "tuning_seeds": tuning_seeds(options),
        "fresh_seeds": fresh_seeds(options),
    }
    work = partial(tune_and_train, algorithm, settings, search, task, networks, options)
    return Unit(name, config, work)


def tune_and_train(
    algorithm: type[Algorithm[Any]],
    settings: Settings,
    search: Search,
    task: Task,
    networks: Mapping[str, Network],
    options: Options,
) -> Result:
    """Choose the hyper-parameters, then train on every network with the fresh seeds."""
    began = time.perf_counter()
    task = task_of(options, task)
    found = search(algorithm, settings, task, options)
    method, seeds = algorithm(**found["hyperparameters"]), fresh_seeds(options)
    runs = {name: train(method, task, net, seeds, options) for name, net in networks.items()}
    return {
        "search": found,
        "networks": {name: curves(run) for name, run in runs.items()},
        "steps": steps_of(task, options),
        "steps_per_epoch": problem(options, task).steps_per_epoch,
        "machine": machine(options),
        "seconds": round(time.perf_counter() - began, 1),
    }


def by_one_node(
    algorithm: type[Algorithm[Any]], settings: Settings, task: Task, options: Options
) -> Result:
    """All settings on one node by halving, then the best few on the ring."""
    central = search_on_one_node(algorithm, settings, task, options)
    compared = _on_the_ring(algorithm, best_of(central), task, options, "grid")
    return {
        "hyperparameters": compared.best().hyperparameters,
        "settings": len(settings),
        "run_steps_on_one_node": central.run_steps,
        "run_steps": compared.run_steps,
        "on_one_node": _scores(central),
        "on_the_ring": _scores(compared),
    }


def by_the_ring(
    algorithm: type[Algorithm[Any]], settings: Settings, task: Task, options: Options
) -> Result:
    """All settings on the ring itself by halving."""
    found = _on_the_ring(algorithm, settings, task, options, _halving(settings))
    return {
        "hyperparameters": found.best().hyperparameters,
        "settings": len(settings),
        "run_steps": found.run_steps,
        "on_the_ring": _scores(found),
    }


def search_on_one_node(
    algorithm: type[Algorithm[Any]], settings: Settings, task: Task, options: Options
) -> Sweep:
    """All settings on one node that holds all data: the central method, at 1/n of the cost.

    Its batches have the size of one node's, and there is no dropout.
    """
    alone = dataclasses.replace(task, num_nodes=1, dropout=0.0)
    steps = steps_of(task, options)
    arguments = simulation(options, steps, RECORDS // 2)
    seeds, rule = tuning_seeds(options), _halving(settings)
    central = problem(options, alone)
    return sweep(
        algorithm,
        settings,
        central,
        complete(1),
        seeds=seeds,
        strategy=rule,
        judge_by="validation_loss",
        **arguments,
    )


def _halving(settings: Settings) -> Halving:
    """Ends what has not even learnt the frequencies of words."""
    few = len(settings) <= HUNDREDS
    return Halving(ENDED_EARLY if few else ENDED_EARLY_OF_HUNDREDS)


def _on_the_ring(
    algorithm: type[Algorithm[Any]],
    settings: Settings,
    task: Task,
    options: Options,
    strategy: Literal["grid"] | Halving,
) -> Sweep:
    return sweep(
        algorithm,
        settings,
        problem(options, task),
        NETWORKS["ring"],
        seeds=tuning_seeds(options),
        strategy=strategy,
        judge_by="validation_loss",
        **simulation(options, steps_of(task, options), RECORDS),
    )


def best_of(found: Sweep) -> list[dict[str, Any]]:
    """The settings with the lowest scores."""
    return [dict(found.settings[int(i)]) for i in found.scores().argsort()[:FINALISTS]]


def _scores(found: Sweep) -> list[Result]:
    """Hyper-parameters and validation loss of the settings that reached the end, best first."""
    scores = found.scores()
    finished = [int(i) for i in scores.argsort() if scores[i].isfinite()]
    return [{**found.settings[i], "validation_loss": round(float(scores[i]), 5)} for i in finished]
