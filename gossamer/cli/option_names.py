"""What Python refuses, with the names that its arguments have on the command line."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gossamer.errors import InvalidInput


@contextmanager
def option_names(names: Mapping[str, str]) -> Iterator[None]:
    """Run a block; what it refuses is said with options in the place of arguments.

    >>> with option_names({"p": "--tail"}):
    ...     raise InvalidInput("p: got 3, need an order p with E‖ξ‖^p < ∞; light tails have p = 2")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: --tail: got 3, need an order --tail with E‖ξ‖^p < ∞; light tails
    have p = 2
    """
    try:
        yield
    except InvalidInput as refusal:
        words = "|".join(map(re.escape, names))
        alone = rf"(?<![\w^-])({words})(?! ?=|[\w(-])"
        raise InvalidInput(re.sub(alone, lambda one: names[one[0]], str(refusal))) from refusal
