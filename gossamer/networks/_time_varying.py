"""Networks whose matrix changes from round to round."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsIndex

from gossamer.errors import require, whole
from gossamer.networks.graphs import circulant, require_size
from gossamer.networks.matrices import Matrix, doubly_stochastic
from gossamer.networks.network import Network, StaticNetwork, require_contraction


@dataclass(frozen=True, eq=False, repr=False)
class TimeVarying(Network):
    """A network that repeats a cycle of τ rounds, W_{t mod τ} in round t; built by `time_varying`.

    A single round may have λ = 1, and nodes without a link; the product of a cycle may not. So
    `weights` is that product, W_{τ−1} … W_0, and `lam` the τ-th root of its distance from 11ᵀ/n.

    Args:
        cycle: the networks of rounds 0, …, τ − 1.
        name: how to build it again.
    """

    cycle: tuple[StaticNetwork, ...]
    name: str

    @property
    def rounds(self) -> tuple[StaticNetwork, ...]:
        """The networks of rounds 0, …, period − 1."""
        return self.cycle

    def __getstate__(self) -> dict[str, Any]:
        return {"cycle": self.cycle, "name": self.name}


def time_varying(rounds: Iterable[Network | Matrix], *, name: str | None = None) -> TimeVarying:
    """A network that takes the given ones in turn, for ever.

    Args:
        rounds: networks or doubly stochastic matrices, all of the same size. A matrix may have
            λ = 1, as when only two nodes talk; over all rounds, disagreement must contract.
        name: how the network is called in results.

    Two pairs talk, then the other two:

    >>> import torch
    >>> pairs = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]) / 2
    >>> others = pairs.roll((1, 1), (0, 1))
    >>> time_varying([pairs, others])
    time_varying(2 rounds): 4 nodes, period 2, degree 1, λ = 0
    """
    given = list(rounds)
    require(len(given) > 0, "rounds", "no round", "at least one network")
    networks = [network for one in given for network in _rounds_of(one)]
    sizes = sorted({network.num_nodes for network in networks})
    require(len(sizes) == 1, "rounds", f"networks of {sizes} nodes", "the same number of nodes")
    result = TimeVarying(tuple(networks), name or f"time_varying({len(networks)} rounds)")
    require_contraction(result)
    return result


def one_peer_exponential(n: SupportsIndex) -> TimeVarying:
    """Each node hears one peer per round, i − s (mod n) with s = 2^(t mod ⌈log₂ n⌉).

    W_t = (I + P_s)/2 with (P_s z)_i = z_{i−s}: as cheap as a round can be, and exact averaging
    after log₂ n rounds when n is a power of two.

    >>> one_peer_exponential(8)
    one_peer_exponential(8): 8 nodes, period 3, degree 1, λ = 0
    >>> one_peer_exponential(20).lam
    0.71737...

    Reference: Ying et al., "Exponential graph is provably efficient for decentralized deep
    training", 2021.
    """
    n = whole("n", n, 1)
    shifts = [2**k for k in range((n - 1).bit_length())]
    require_size(n, len(shifts))
    matrices = [circulant(n, {0: 0.5, shift: 0.5}) for shift in shifts] or [circulant(1, {0: 1.0})]
    return time_varying(matrices, name=f"one_peer_exponential({n})")


def _rounds_of(one: Network | Matrix) -> tuple[StaticNetwork, ...]:
    return one.rounds if isinstance(one, Network) else (doubly_stochastic(one, "round"),)
