"""Memory that a loop frees at every step and needs again at the next."""

import ctypes

import torch

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Of mallopt(3)."""

LARGEST_BLOCK = 31 * 2**20
"""Just below the size from which glibc always maps a block anew."""


def keep_freed_memory() -> None:
    """Let malloc keep up to 62 MB of freed memory instead of returning it to the system.

    A step frees its temporaries; glibc gives what lies at the top of its heap back and the next
    step faults every page in again, at some sizes for half of its time. Freeing one block that was
    mapped on its own raises glibc's thresholds to the size of that block (`M_MMAP_THRESHOLD` in
    mallopt(3)). No page of it is touched, and other allocators take no notice.
    """
    torch.empty(LARGEST_BLOCK, dtype=torch.uint8)


def keep_all_freed_memory() -> None:
    """Let malloc keep all that is freed, for a process that trains one model until it ends.

    Beyond `LARGEST_BLOCK` glibc maps every temporary anew, and a step of a large model faults
    several models in: more than half of its time. Other allocators take no notice.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)  # nothing is mapped on its own
        mallopt(M_TRIM_THRESHOLD, -1)  # nothing is given back
