"""What is searched for a method when nobody says otherwise: the paper's search sets."""

from collections.abc import Mapping, Sequence
from typing import Any

from gossamer.algorithms import Algorithm, SClipEF, admissible_sets

STEP_SIZES = [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0]
MOMENTA = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
CLIP_LEVELS = [1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0]

SearchSet = Mapping[str, Sequence[Any]]
"""Hyper-parameter → values to try, numbers or words."""

BY_NAME: SearchSet = {
    "lr": STEP_SIZES,
    "momentum": MOMENTA,
    "clip": CLIP_LEVELS,
    "scale": [1.0, 5.0, 10.0, 20.0, 30.0, 50.0],
    "floor": [1e-5, 1e-4, 1e-3, 1e-2, 0.1],
    "cap": [1e-3, 1e-2, 0.1, 1.0, 10.0],
}
"""For a hyper-parameter of this name; one of another name stays at its default."""

BY_METHOD: dict[type[Algorithm[Any]], SearchSet] = {
    SClipEF: {
        "lr": [1e-3, 1e-2, 0.1, 1.0, 10.0, 30.0],
        "momentum": [1e-2, 0.1, 0.5, 0.8, 0.99],
        "scale": BY_NAME["scale"],
        "clip": [0.1, 1.0, 10.0, 50.0, 100.0],
    },
}
"""Methods whose set is not made of `BY_NAME`; a method of your own can be put here."""


def search_set(algorithm: type[Algorithm[Any]]) -> SearchSet:
    """Hyper-parameter → the values that `tune` tries by default for a method.

    `PushSum(method)` has the search set of the method.

    >>> from gossamer.algorithms import GTNSGDm
    >>> {name: len(values) for name, values in search_set(GTNSGDm).items()}
    {'lr': 13, 'momentum': 11}
    """
    names = admissible_sets(algorithm)
    by_name = {name: BY_NAME[name] for name in names if name in BY_NAME}
    return next((BY_METHOD[kind] for kind in algorithm.__mro__ if kind in BY_METHOD), by_name)
