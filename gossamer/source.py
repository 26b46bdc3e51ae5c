"""How functions are written down in results."""

import inspect
from collections.abc import Callable
from typing import Any


def source_of(function: Callable[..., Any]) -> str:
    """How a function is written, where that can be read, else its name."""
    try:
        return inspect.cleandoc(inspect.getsource(function)).strip()
    except (OSError, TypeError):
        return name_of(function)


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called."""
    return str(getattr(function, "__name__", type(function).__name__))
