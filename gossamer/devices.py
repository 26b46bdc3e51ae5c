"""Refuses a device that this machine does not have, before any work."""

import torch

from gossamer.errors import refuse, require


def require_device(device: torch.device | str, way_out: str = "pass device='cpu'") -> None:
    """Refuse a device that torch does not know, or a GPU that it does not see here.

    >>> require_device("gpu")
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: device: got 'gpu', need one that torch knows; e.g. 'cpu' or 'cuda'
    """
    found = repr(str(device))
    try:
        asked = torch.device(device)
    except (RuntimeError, TypeError):
        refuse("device", found, "one that torch knows", "e.g. 'cpu' or 'cuda'")
    if asked.type != "cuda":
        _require_usable(asked, found, way_out)
        return
    seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    require(seen > 0, "device", found, "a CUDA device, and torch sees none here", way_out)
    need = f"one of the CUDA devices that torch sees here ({seen})"
    require((asked.index or 0) < seen, "device", found, need, "e.g. 'cuda:0'")


def _require_usable(device: torch.device, found: str, way_out: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError):
        refuse("device", found, "one that this torch can use", way_out)
