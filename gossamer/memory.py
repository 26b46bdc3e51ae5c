"""Memory that a loop frees at every step and needs again at the next."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4
"""Of mallopt(3), as in malloc.h."""

NEVER = -1
"""Give nothing back."""

LEAST, MOST = 31 * 2**20, 2**30
"""Between these lie the largest blocks that are kept."""

AROUND = 2**12
"""Bytes that malloc and torch put around a block, at most."""


def keep_freed_memory(size: int = 0) -> None:
    """Let malloc keep some freed blocks of `size` bytes instead of returning them to the system.

    A step frees its temporaries; glibc gives what lies at the top of its heap back, and what is
    larger than 32 MB at once, and the next step faults every page in again: half of its time. Now
    up to eight blocks at the top are kept, at least 62 MB, and all there is where they are 2 GB or
    more. Other allocators take no notice.
    """
    _tell_malloc(M_MMAP_THRESHOLD, min(max(size + AROUND, LEAST), MOST))
    _tell_malloc(M_TRIM_THRESHOLD, max(8 * size, 2 * LEAST) if 8 * size < 2 * MOST else NEVER)


def keep_all_freed_memory() -> None:
    """Let malloc keep all that is freed, for a process that trains one model until it ends."""
    _tell_malloc(M_MMAP_MAX, 0)  # nothing is mapped on its own
    _tell_malloc(M_TRIM_THRESHOLD, NEVER)


def _tell_malloc(option: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(option, value)
