"""Methods, problems, networks and noises that a user's file defines, for use by name."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

from gossamer.algorithms import ALGORITHMS, MAKERS, Algorithm
from gossamer.errors import InvalidInput, require
from gossamer.experiments import Experiment
from gossamer.experiments.experiment import require_stated
from gossamer.networks import NETWORKS, Network
from gossamer.noise import NOISES, Noise
from gossamer.problems import PROBLEMS, Problem
from gossamer.simulation.metrics import METRICS, Measure, Metric
from gossamer.spec import Given
from gossamer.studies import EXPERIMENTS
from gossamer.user_file import load_user_file


@dataclass(frozen=True)
class Kind:
    """What an option takes by name: classes, functions that make one, and objects with a name."""

    word: str
    type: type[Any]
    makers: dict[str, Any]
    classes: dict[str, Any]


KINDS = (
    Kind("algorithm", Algorithm, MAKERS, ALGORITHMS),
    Kind("problem", Problem, PROBLEMS, PROBLEMS),
    Kind("network", Network, NETWORKS, NETWORKS),
    Kind("noise", Noise, NOISES, NOISES),
)

OWN_METRICS: dict[str, Measure] = {}
"""Functions of a stack: measured where they are asked for, and not in every run."""

_read: set[ModuleType] = set()


@dataclass(frozen=True)
class Entry:
    """A name in one of the tables."""

    table: dict[str, Any]
    name: str
    meaning: Any
    taken: dict[str, Any]
    """What the name must not be in."""


def import_file(path: str | Path) -> None:
    """Run a user's file, and know by name what it defines at its top level.

    Names that begin with _ are its own business, and so is what it imports from here.
    """
    module = load_user_file(path)
    if module in _read:
        return
    entries = [entry for name, thing in _public(module) for entry in _entries(name, thing, module)]
    for entry in entries:
        _require_free(entry, module)
    for entry in entries:
        entry.table[entry.name] = entry.meaning
    _read.add(module)


def own_metric(name: str) -> str | Measure:
    """The function that a user's file has for a metric of that name, or the name itself."""
    return OWN_METRICS.get(name, name)


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names and what they stand for, but for what comes from Gossamer."""
    for name, thing in vars(module).items():
        origin = thing.measure if isinstance(thing, Metric) else thing
        home = str(getattr(origin, "__module__", ""))
        ours = isinstance(thing, type | FunctionType | Metric) and home.startswith("gossamer.")
        if not name.startswith("_") and not ours:
            yield name, thing


def _entries(name: str, thing: Any, module: ModuleType) -> Iterator[Entry]:
    """Where a name belongs: nowhere, in one table or, if only its use can tell, in several."""
    if isinstance(thing, Experiment):
        yield _experiment(thing)
    elif isinstance(thing, Metric):
        yield _metric(name, thing)
    elif isinstance(thing, type):
        yield from _of_class(name, thing)
    elif isinstance(thing, partial) or _is_function_of(module, thing):
        yield from _of_function(name, thing)
    else:
        for kind in KINDS:
            if isinstance(thing, kind.type):
                yield _maker(kind, name, Given(name, thing))


def _of_class(name: str, thing: type[Any]) -> Iterator[Entry]:
    if inspect.isabstract(thing):
        return
    if issubclass(thing, Experiment):
        yield _experiment(thing())
    for kind in KINDS:
        if issubclass(thing, kind.type):
            yield Entry(kind.classes, name, thing, kind.makers | kind.classes)


def _of_function(name: str, function: Callable[..., Any]) -> Iterator[Entry]:
    """By what it says that it returns; one that does not say may make anything."""
    returned = _returned(function)
    for kind in KINDS:
        if returned is None or (isinstance(returned, type) and issubclass(returned, kind.type)):
            yield _maker(kind, name, _checked(kind, name, function))
    if returned is None and _takes_one(function):
        yield _metric(name, function)


def _experiment(experiment: Experiment[Any]) -> Entry:
    require_stated(experiment)
    return Entry(EXPERIMENTS, experiment.name, experiment, EXPERIMENTS)


def _metric(name: str, measure: Measure) -> Entry:
    return Entry(OWN_METRICS, name, measure, METRICS)


def _maker(kind: Kind, name: str, maker: Callable[..., Any]) -> Entry:
    return Entry(kind.makers, name, maker, kind.makers | kind.classes)


def _checked(kind: Kind, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which must make what it is asked for."""

    @wraps(function)
    def make(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        found = f"{name}, which makes a {type(made).__name__}"
        fits = isinstance(made, kind.type)
        require(fits, kind.word, found, f"what makes a gs.{kind.type.__name__}")
        return made

    make.__name__ = name
    return make


def _is_function_of(module: ModuleType, thing: Any) -> bool:
    return isinstance(thing, FunctionType) and thing.__module__ == module.__name__


def _returned(function: Callable[..., Any]) -> Any:
    """What a function says that it returns, if anything."""
    inner = function.func if isinstance(function, partial) else function
    try:
        return get_type_hints(inner).get("return")
    except (NameError, TypeError):
        return None


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True


def _require_free(entry: Entry, module: ModuleType) -> None:
    """Refuse a name that is taken."""
    if entry.name in entry.taken:
        ours = entry.taken[entry.name]
        home = getattr(ours, "__module__", type(ours).__module__)
        raise InvalidInput(
            f"import: {module.__file__} defines {entry.name}, which is the name of {home}."
            f"{getattr(ours, '__qualname__', type(ours).__name__)}; rename yours, or let its name "
            "begin with _ if it is a helper"
        )
