"""Methods of torch's optimizer, where nobody has loaded torch's compiler."""

import inspect
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def without_compiler(method: Callable[P, T]) -> Callable[P, T]:
    """What `method` does, without the import of torch's compiler.

    torch keeps its compiler out of these methods and imports it to do so, which takes 1.5 s: half
    of what a rank needs to start. Before anybody has imported it, there is nothing to keep out.
    """
    return method if "torch._dynamo" in sys.modules else inspect.unwrap(method)
