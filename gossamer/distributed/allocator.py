"""Large temporaries on CPU without page faults."""

import ctypes

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # names and values of glibc's malloc.h


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed memory for the next allocation; False where there is no glibc.

    A step allocates several temporaries as large as the model. By default glibc returns them to the
    system and faults every page in again, which can cost more than the arithmetic. The setting
    holds for the whole process, whose memory then stays at its peak.

    >>> keep_freed_memory() in (True, False)
    True
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1))
