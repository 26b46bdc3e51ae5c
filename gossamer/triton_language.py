"""Triton where it is installed; where it is not, kernels are defined but never called."""

import importlib.util
from importlib import import_module
from typing import Any

jit: Any = lambda function: function  # noqa: E731
tl: Any = None

if importlib.util.find_spec("triton") is not None:
    jit, tl = import_module("triton").jit, import_module("triton.language")


def installed() -> bool:
    """Whether kernels can be compiled."""
    return tl is not None


def padded(count: int) -> int:
    """The next power of two: how many places a program has for this many numbers.

    >>> padded(128), padded(768)
    (128, 1024)
    """
    return 1 << (count - 1).bit_length()
