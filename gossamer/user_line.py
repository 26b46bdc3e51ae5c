"""Warnings that point to the user's own line, however deep in libraries they arise."""

import os
import sys
import warnings
from pathlib import Path

import torch

LIBRARIES = tuple(f"{Path(module).parent}{os.sep}" for module in (__file__, torch.__file__))


def warn_user(message: str) -> None:
    """Warn at the innermost line that is neither Gossamer's nor torch's.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_user("rank 3: the gradient is not finite")
    >>> print(caught[0].message)
    rank 3: the gradient is not finite
    """
    frame, depth = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(LIBRARIES):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, RuntimeWarning, stacklevel=depth)
