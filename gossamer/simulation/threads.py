"""How many threads a stack uses."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from gossamer.native.threads import our_cores
from gossamer.simulation.load import Load, seconds_on_our_cores

SMALL = 2**15
"""Numbers per tensor up to which a step is too short to be shared among threads.

Measured on two idle cores, the second gained nothing at 2^14 numbers, a fifth at 2^15, three
quarters from 2^17 on.
"""

LOAD = Load(len(our_cores()), seconds_on_our_cores)


@contextmanager
def threads_for(x: Tensor, native: bool = False) -> Iterator[int]:
    """Compute with one thread when tensors like x have few numbers, else on the free cores.

    Threads wait for each other after every operation. Where another process holds one of their
    cores, all wait for that one to be scheduled again: on two cores with two busy processes beside
    it, a step was measured 70 to 130 times slower with two threads, and twice with one. Never more
    threads than torch had before, which it has again afterwards. The results are the same bits.

    With `native`, the number that is given is for steps in C, which have threads of their own. They
    do not wait for each other in every step, so there are as many on busy machines. Torch has one:
    its others would go on to wait, awake, for milliseconds on the cores of those.

    On another device nothing is changed: a compiled step would be compiled again.

    >>> with threads_for(torch.zeros(400)) as threads:
    ...     threads, torch.get_num_threads()
    (1, 1)
    """
    if x.device.type != "cpu":
        yield 1
        return
    most = torch.get_num_threads() if native else LOAD.free_cores()
    threads = min(torch.get_num_threads(), 1 if x.numel() <= SMALL else most)
    with _threads(1 if native else threads):
        yield threads


@contextmanager
def on_free_cores() -> Iterator[None]:
    """Compute on the cores that other processes leave free when it begins; see `threads_for`."""
    with _threads(LOAD.free_cores()):
        yield


@contextmanager
def _threads(most: int) -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(min(before, most))
        yield
    finally:
        torch.set_num_threads(before)
