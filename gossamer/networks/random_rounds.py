"""Networks that are drawn anew in every round, a pure function of the run's seed and the round."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, SupportsIndex

import torch
from torch import Tensor

from gossamer.errors import whole
from gossamer.interval import SHARE, within
from gossamer.networks.chance import stream_keys, uniform
from gossamer.networks.channel import Channel, Deliveries, LinkMemory, Talk
from gossamer.networks.graphs import complete, require_size
from gossamer.networks.network import Network
from gossamer.networks.recipe import Recipe
from gossamer.networks.seeded import SeededRounds
from gossamer.networks.static import StaticNetwork
from gossamer.seeding import SeedGroups


@dataclass(frozen=True, repr=False)
class RandomRounds(Network):
    """n nodes whose links, and thus the doubly stochastic W_t, are drawn anew in every round."""

    n: int

    @abstractmethod
    def matrices(self, t: int | Tensor, seeds: Sequence[int]) -> Tensor:
        """W_t for each of S seeds, `(S, n, n)` in float64; for several t, `(rounds, S, n, n)`."""

    @property
    def rounds(self) -> tuple[StaticNetwork, ...]:
        """The complete network, which has all links that may be drawn."""
        return (complete(self.n),)

    @property
    def departure(self) -> str:
        """The random links."""
        return "links are drawn anew in every round"

    @property
    def lam_note(self) -> str:
        """The sense in which λ holds."""
        return "in mean square"

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """A channel with a matrix for each seed and round."""
        return RandomChannel(self, seeds, dtype, device)


@dataclass(frozen=True, repr=False)
class RandomMatching(RandomRounds):
    """In every round, pairs of nodes drawn at random average; with odd n one sits out."""

    @property
    def recipe(self) -> Recipe:  # type: ignore[override]
        """How it is built."""
        return Recipe(f"random_matching({self.n})")

    @property
    def degrees(self) -> str:
        """One partner."""
        return "one random partner per round"

    def _lam(self) -> float:
        """W_t is a projection of rank ⌈n/2⌉ and all nodes are alike: λ² = (⌈n/2⌉ − 1)/(n − 1)."""
        return float(((-(-self.n // 2) - 1) / (self.n - 1)) ** 0.5)

    def matrices(self, t: int | Tensor, seeds: Sequence[int]) -> Tensor:
        """(I + P_t)/2, P_t exchanging the nodes of every pair."""
        order = _coins("matching", t, seeds, torch.arange(self.n)).argsort(dim=-1)
        first, second = order[..., 0 : self.n - 1 : 2], order[..., 1::2]
        partner = torch.arange(self.n).expand_as(order).clone()
        partner.scatter_(-1, first, second).scatter_(-1, second, first)
        own = torch.eye(self.n, dtype=torch.float64)
        return (own + own[partner]) / 2


@dataclass(frozen=True, repr=False)
class ErdosRenyiRounds(RandomRounds):
    """In every round, each pair of nodes is linked with some probability; Metropolis weights."""

    probability: float
    DRAWS: ClassVar[int] = 2000

    @property
    def recipe(self) -> Recipe:  # type: ignore[override]
        """How it is built."""
        return Recipe(f"erdos_renyi_each_round({self.n}, {self.probability})")

    @property
    def degrees(self) -> str:
        """As many as the coins give."""
        return f"{self.probability * (self.n - 1):.3g} random neighbours per round on average"

    @property
    def lam_note(self) -> str:
        """No formula is known."""
        return f"in mean square, estimated by {self.DRAWS} draws"

    def _lam(self) -> float:
        """All nodes are alike, so λ² = (E tr W_t² − 1)/(n − 1); the mean is over draws."""
        traces = self.matrices(0, range(self.DRAWS)).square().sum((1, 2))
        return float(((traces.mean() - 1) / (self.n - 1)) ** 0.5)

    def matrices(self, t: int | Tensor, seeds: Sequence[int]) -> Tensor:
        """w_ij = 1/(1 + max(d_i, d_j)) on the links of the round."""
        i, j = torch.triu_indices(self.n, self.n, offset=1)
        coins = _coins("erdos_renyi", t, seeds, i * self.n + j)
        links = torch.zeros(*coins.shape[:-1], self.n, self.n, dtype=torch.float64)
        links[..., i, j] = links[..., j, i] = (coins < self.probability).double()
        degree = links.sum(-1)
        weights = links / (1 + torch.maximum(degree[..., :, None], degree[..., None, :]))
        weights.diagonal(dim1=-2, dim2=-1).copy_(1 - weights.sum(-1))
        return weights


def random_matching(n: SupportsIndex) -> RandomMatching:
    """In every round, nodes are paired at random, and each pair averages its values.

    >>> random_matching(20)
    random_matching(20): 20 nodes, one random partner per round, λ = 0.688247 in mean square

    Reference: Boyd, Ghosh, Prabhakar and Shah, "Randomized gossip algorithms", 2006.
    """
    n = whole("n", n, 2)
    require_size(n, n - 1)
    return RandomMatching(n)


def erdos_renyi_each_round(n: SupportsIndex, probability: float) -> ErdosRenyiRounds:
    """In every round, each pair is linked with the given probability; with Metropolis weights.

    >>> erdos_renyi_each_round(20, 0.1)
    erdos_renyi_each_round(20, 0.1): 20 nodes, 1.9 random neighbours per round on average, λ = ...
    """
    n = whole("n", n, 2)
    within("probability", probability, SHARE)
    require_size(n, n - 1)
    return ErdosRenyiRounds(n, probability)


def _coins(purpose: str, t: int | Tensor, seeds: Sequence[int], places: Tensor) -> Tensor:
    """A uniform number per seed and place, `(S, places)`; for several t, `(rounds, S, places)`."""
    rounds = t[:, None, None] if isinstance(t, Tensor) else t
    return uniform(stream_keys(purpose, seeds)[:, None], rounds, places)


class RandomChannel(Channel):
    """Runs that draw their matrices, each seed its own."""

    def __init__(
        self,
        network: RandomRounds,
        seeds: Sequence[int],
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self._network, self._groups = network, SeedGroups.of(seeds, device)
        self._rounds = SeededRounds(self._groups, network.num_nodes**2, dtype, self._draw)

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The products of a round."""
        return self._rounds.at(t)

    def messages_sent(self, steps: range) -> Tensor:
        """One to every neighbour of the round."""
        drawn = self._matrices(torch.arange(steps.start, steps.stop)) > 0
        neighbours = (drawn.sum(-1) - 1).transpose(1, 2)
        return neighbours[:, :, self._groups.place.cpu()]

    def deliveries(self, t: int) -> Deliveries:
        """The links that are drawn for some seed."""
        drawn = (self._matrices(t) > 0)[self._groups.place.cpu()]
        drawn.diagonal(dim1=1, dim2=2).fill_(False)
        receiver, sender = drawn.any(0).nonzero(as_tuple=True)
        return Deliveries(receiver, sender, drawn[:, receiver, sender].T)

    def _draw(self, rounds: range) -> list[Tensor]:
        return list(self._matrices(torch.arange(rounds.start, rounds.stop)))

    def _matrices(self, t: int | Tensor) -> Tensor:
        return self._network.matrices(t, self._groups.distinct)
