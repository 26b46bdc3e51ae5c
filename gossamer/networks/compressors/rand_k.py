"""RandK: random coordinates, which both sides draw alike."""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import torch
from torch import Tensor

from gossamer.networks.chance import Coins
from gossamer.networks.compressors.compressor import Compressor
from gossamer.networks.compressors.message import join, take
from gossamer.networks.compressors.places import kept, replaced, require_share

STRIDES = 64
"""Strides to choose from, spread over 1, …, dim."""


@dataclass(frozen=True, repr=False)
class RandK(Compressor):
    r"""k = ⌈share·dim⌉ coordinates, chosen at random: there ĥ⁺ = z, and elsewhere ĥ⁺ = ĥ.

    The receiver draws the same coordinates as the sender, so that only their k values are sent.
    They are (b + s j) mod dim for j = 0, …, k − 1, with a random start b and a random stride s that
    has no factor in common with dim. So they are k different coordinates, and each is chosen with
    probability k/dim. They are not chosen independently, but the contraction

    $$E‖z - ĥ⁺‖² = (1 - k/dim) ‖z - ĥ‖²$$

    needs only these probabilities. The choice takes k operations; a permutation would take dim.

    >>> copy, z = torch.zeros(6), torch.arange(1.0, 7.0)
    >>> RandK(0.5).compress(copy, z, Coins.of(0, 0)).count_nonzero()
    tensor(3)
    >>> RandK(0.05).message_bytes(3_000_000, torch.float32) / (4 * 3_000_000)
    0.05

    Args:
        share: the share of the coordinates that is sent, in (0, 1].
    """

    share: float

    def __post_init__(self) -> None:
        require_share(self.share)

    @property
    def words(self) -> str:
        """What a message holds."""
        return f"{100 * self.share:.3g} % of the coordinates, chosen at random"

    def compress(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """ĥ with k coordinates replaced by those of z."""
        return replaced(copy, z, coins.deal(self._places(copy, coins)))

    def encode(self, copy: Tensor, z: Tensor, coins: Coins) -> Tensor:
        """The values of z at the k coordinates."""
        return join(z[self._places(copy, coins)].to(copy.dtype))

    def decode(self, copy: Tensor, message: Tensor, coins: Coins) -> Tensor:
        """ĥ with the k values that were sent."""
        places = self._places(copy, coins)
        return copy.index_copy(0, places, take(message, len(places), copy.dtype)[0])

    def message_bytes(self, dim: int, dtype: torch.dtype) -> int:
        """The size of k values."""
        return kept(self.share, dim) * dtype.itemsize

    def gamma(self, dim: int) -> float:
        """k/dim.

        With this γ and shares of 0.1 and 0.25, gradient tracking converged exactly to the optimum,
        both on a ring of 10 nodes and on an unbalanced digraph whose largest Perron weight is 128
        times the smallest. With γ = 2k/dim it diverged on both.
        """
        return kept(self.share, dim) / dim

    def _places(self, copy: Tensor, coins: Coins) -> Tensor:
        """(a + b j) mod dim, `(…, k)`, for each distinct seed."""
        dim = copy.shape[-1]
        chance = coins.uniform(2)
        choices = strides(dim, copy.device)
        start = (chance[..., :1] * dim).long()
        stride = choices[(chance[..., 1:] * len(choices)).long()]
        steps = torch.arange(kept(self.share, dim), device=copy.device)
        return (start + stride * steps) % dim


@lru_cache
def strides(dim: int, device: torch.device) -> Tensor:
    """Numbers that have no factor in common with `dim`: the next after each of `STRIDES` points.

    >>> strides(12, torch.device("cpu")).unique()
    tensor([ 1,  5,  7, 11, 13])
    """
    points = range(1, dim + 1, max(1, dim // STRIDES))
    coprime = [next(b for b in count(point) if math.gcd(b, dim) == 1) for point in points]
    return torch.tensor(coprime, device=device)
