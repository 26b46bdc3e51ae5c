"""A few of the coordinates: how many, and the values of z in their places."""

import math

from torch import Tensor

from gossamer.interval import SHARE, within


def kept(share: float, dim: int) -> int:
    """k = ⌈share·dim⌉, at least one.

    >>> kept(0.07, 100), kept(0.001, 20)
    (7, 1)
    """
    return max(1, math.ceil(round(share * dim, 6)))


def require_share(share: float) -> None:
    """Refuse a share outside (0, 1]."""
    within("share", share, SHARE, "0.1 sends a tenth of the coordinates")


def replaced(copy: Tensor, z: Tensor, places: Tensor) -> Tensor:
    """ĥ with the values of z at `places`, `(…, k)`."""
    return copy.scatter(-1, places, z.gather(-1, places).to(copy.dtype))
