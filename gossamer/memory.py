"""Memory that a loop frees at every step and needs again at the next."""

import torch

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
