"""A unit of work: a frozen record whose fields are its configuration."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gossamer.algorithms import Algorithm
from gossamer.errors import InvalidInput
from gossamer.networks import Network

Result = dict[str, Any]
"""What a unit computes: plain JSON (lists, numbers, words); non-finite numbers are allowed."""


@dataclass(frozen=True)
class Unit(ABC):
    """A piece of work whose result is computed once and then stored in a file of its own.

    A subclass is a frozen dataclass. Its fields determine the result, and `run` reads nothing else.
    The device is not a field. Like the version of torch, it can change the last digits or the
    random numbers, so it is stored together with the result.
    """

    name: str
    """A name that is unique in the experiment, and the file name without its ending."""

    @abstractmethod
    def run(self, device: str) -> Result:
        """Compute the result on `device`."""

    @property
    def config(self) -> dict[str, Any]:
        """The fields as plain JSON. A stored result is used only if its fields are the same."""
        return _fields(self)


def describe(value: Any) -> Any:
    """The value of a unit's field as plain JSON.

    >>> from gossamer.noise import Gaussian
    >>> describe({"noise": Gaussian(2.0), "dtype": torch.float32, "seeds": range(3)})
    {'noise': {'type': 'Gaussian', 'std': 2.0}, 'dtype': 'float32', 'seeds': [0, 1, 2]}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [describe(item) for item in value]
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Network):
        return value.describe()
    if isinstance(value, Algorithm):
        return {"type": type(value).__name__, **describe(value.hyperparameters)}
    if dataclasses.is_dataclass(value):
        return {"type": type(value).__name__, **_fields(value)}
    raise InvalidInput(
        f"unit: got a field of type {type(value).__name__}, need numbers, words, networks, "
        "noises, methods, and lists, dictionaries or dataclasses of them"
    )


def _fields(record: Any) -> dict[str, Any]:
    arguments = (field.name for field in dataclasses.fields(record) if field.init)
    return {name: describe(getattr(record, name)) for name in arguments}
