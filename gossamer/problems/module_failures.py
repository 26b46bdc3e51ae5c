"""What torch raises inside a module or its loss, told as bad input."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from gossamer.errors import InvalidInput, first_line


@contextmanager
def refusing(told: Callable[[str], str]) -> Iterator[None]:
    """Within, what is raised is bad input, `told` of its first line; where memory ends, that is.

    A GPU, which fails later than it is asked, is waited for.

    >>> with refusing(lambda reason: f"loss: got one that fails ({reason})"):
    ...     raise TypeError("missing argument")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: loss: got one that fails (missing argument)
    """
    try:
        yield
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except InvalidInput:
        raise
    except Exception as reason:
        if memory_ended(reason):
            raise InvalidInput(
                f"memory: got less than the module needs ({first_line(reason)}), need enough for "
                "one gradient; take a smaller batch or module, or a device with more memory"
            ) from reason
        raise InvalidInput(told(first_line(reason))) from reason


def memory_ended(reason: Exception) -> bool:
    """Whether an exception tells that there was no memory left, on a GPU or beside it."""
    known = isinstance(reason, torch.OutOfMemoryError | MemoryError)
    return known or "can't allocate memory" in str(reason)
