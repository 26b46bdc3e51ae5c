"""How many cores a stack is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 2**14
"""Numbers per tensor up to which a step is too short to be shared among cores."""


@contextmanager
def threads_for(size: int) -> Iterator[None]:
    """Compute on one core when tensors have at most `SMALL` numbers, then on as many as before.

    A second core gains little on products of a few microseconds, and on a busy machine they wait
    for each other: there, one run was measured a hundred times slower on two cores than on one.

    >>> with threads_for(400):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if size <= SMALL else before)
        yield
    finally:
        torch.set_num_threads(before)
