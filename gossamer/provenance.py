"""What made a result: versions, device and commit."""

import os
import platform
import subprocess
from pathlib import Path

import torch

from gossamer.version import __version__


def versions() -> dict[str, str]:
    """Of Gossamer, torch and Python."""
    return {
        "gossamer": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def device_name(device: str) -> str:
    """The device in words."""
    return torch.cuda.get_device_name() if device == "cuda" else device.upper()


def commit() -> str | None:
    """The commit of the source tree the package runs from, where it is known.

    A tree without its history can be told by the environment variable `GOSSAMER_COMMIT`.
    """
    if told := os.environ.get("GOSSAMER_COMMIT"):
        return told
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(git, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
