"""Networks that are drawn anew in every round, a pure function of the run's seed and the round."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, SupportsIndex

import torch
from torch import Tensor

from gossamer.errors import whole
from gossamer.interval import SHARE, within
from gossamer.networks.chance import stream_keys, uniform
from gossamer.networks.channel import Channel, Deliveries, LinkMemory, Talk
from gossamer.networks.graphs import complete, require_size
from gossamer.networks.network import Network
from gossamer.networks.recipe import Recipe
from gossamer.networks.seeded import MOST_NUMBERS, SeededRounds
from gossamer.networks.sparse import SparseMatrix
from gossamer.networks.static import StaticNetwork, multiplied_sparse
from gossamer.seeding import SeedGroups


class DrawnLinks(NamedTuple):
    """The links of several rounds for several seeds, one after the other: `(links,)` each."""

    round: Tensor
    """Place of the round among those that were asked for."""

    seed: Tensor
    """Place of the seed, likewise."""

    receiver: Tensor
    sender: Tensor
    weight: Tensor
    """w_ij in float64, of i = `receiver` and j = `sender`."""


@dataclass(frozen=True, repr=False)
class RandomRounds(Network):
    """n nodes whose links, and thus the doubly stochastic W_t, are drawn anew in every round."""

    n: int

    @abstractmethod
    def links(self, rounds: Tensor, seeds: Sequence[int]) -> DrawnLinks:
        """The links of the given rounds, `(rounds,)`, for each seed."""

    def matrices(self, rounds: Tensor, seeds: Sequence[int]) -> Tensor:
        """W_t of every round and seed, `(rounds, seeds, n, n)` in float64."""
        drawn = self.links(rounds, seeds)
        weights = torch.zeros(len(rounds), len(seeds), self.n, self.n, dtype=torch.float64)
        weights[drawn.round, drawn.seed, drawn.receiver, drawn.sender] = drawn.weight
        weights.diagonal(dim1=-2, dim2=-1).copy_(1 - weights.sum(-1))
        return weights

    @property
    @abstractmethod
    def links_per_round(self) -> float:
        """How many links a round has on average; those from i to j and from j to i are two."""

    @property
    @abstractmethod
    def numbers_per_round(self) -> int:
        """How many random numbers a round takes."""

    @property
    def rounds(self) -> tuple[StaticNetwork, ...]:
        """The complete network, which has all links that may be drawn."""
        return (complete(self.n),)

    @property
    def num_nodes(self) -> int:
        """n."""
        return self.n

    @property
    def period(self) -> int:
        """1: in every round the same links may be drawn."""
        return 1

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @property
    def balanced(self) -> bool:
        """True."""
        return True

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

    @property
    def links_per_round(self) -> float:
        """One to and one from each partner."""
        return self.n - self.n % 2

    @property
    def numbers_per_round(self) -> int:
        """One for each node."""
        return self.n

    def links(self, rounds: Tensor, seeds: Sequence[int]) -> DrawnLinks:
        """W_t = (I + P_t)/2, P_t exchanging the nodes of every pair."""
        order = _coins("matching", rounds, seeds, torch.arange(self.n)).argsort(dim=-1)
        first, second = order[..., 0 : self.n - 1 : 2], order[..., 1::2]
        partner = torch.arange(self.n).expand_as(order).clone()
        partner.scatter_(-1, first, second).scatter_(-1, second, first)
        paired = partner != torch.arange(self.n)
        round_, seed, node = paired.nonzero(as_tuple=True)
        half = torch.full(node.shape, 0.5, dtype=torch.float64)
        return DrawnLinks(round_, seed, node, partner[paired], half)


@dataclass(frozen=True, repr=False)
class ErdosRenyiRounds(RandomRounds):
    """In every round, each pair of nodes is linked with some probability; Metropolis weights."""

    probability: float
    DRAWS: ClassVar[tuple[int, int]] = 20, 2000
    """The fewest and the most of which λ is estimated."""

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
        return f"in mean square, estimated by {self.draws} draws"

    @property
    def draws(self) -> int:
        """Of which λ is estimated: fewer with many nodes, over which a draw averages, too."""
        fewest, most = self.DRAWS
        return min(most, max(fewest, 20 * most // self.n))

    def _lam(self) -> float:
        """All nodes are alike, so λ² = (E tr W_t² − 1)/(n − 1); the mean is over draws."""
        several = max(1, MOST_NUMBERS // self.numbers_per_round)
        parts = [range(k, min(k + several, self.draws)) for k in range(0, self.draws, several)]
        mean = sum(self._traces(seeds) for seeds in parts) / self.draws
        return float((max(0.0, mean - 1) / (self.n - 1)) ** 0.5)  # a mean may be rounded below 1

    def _traces(self, seeds: Sequence[int]) -> float:
        """The sum of tr W_0² = Σ_ij w_ij² over the seeds."""
        drawn = self.links(torch.tensor([0]), seeds)
        rest = torch.ones(len(seeds) * self.n, dtype=torch.float64)
        rest.index_add_(0, drawn.seed * self.n + drawn.receiver, drawn.weight, alpha=-1)
        return float(drawn.weight.square().sum() + rest.square().sum())

    @property
    def links_per_round(self) -> float:
        """Each of the n(n − 1) with the same probability."""
        return self.probability * self.n * (self.n - 1)

    @property
    def numbers_per_round(self) -> int:
        """One for each pair."""
        return self.n * (self.n - 1) // 2

    def links(self, rounds: Tensor, seeds: Sequence[int]) -> DrawnLinks:
        """w_ij = 1/(1 + max(d_i, d_j)) on the links of the round."""
        i, j = torch.triu_indices(self.n, self.n, offset=1)
        coins = _coins("erdos_renyi", rounds, seeds, i * self.n + j)
        round_, seed, pair = (coins < self.probability).nonzero(as_tuple=True)
        ends = torch.stack([i[pair], j[pair]])
        nodes = (round_ * len(seeds) + seed) * self.n + ends  # a number for each in each draw
        degree = torch.bincount(nodes.flatten(), minlength=len(rounds) * len(seeds) * self.n)
        weight = 1 / (1 + degree[nodes].amax(0).double())
        receiver, sender = ends.flatten(), ends.flip(0).flatten()
        return DrawnLinks(round_.repeat(2), seed.repeat(2), receiver, sender, weight.repeat(2))


def random_matching(n: SupportsIndex) -> RandomMatching:
    """In every round, nodes are paired at random, and each pair averages its values.

    >>> random_matching(20)
    random_matching(20): 20 nodes, one random partner per round, λ = 0.688247 in mean square

    Reference: Boyd, Ghosh, Prabhakar and Shah, "Randomized gossip algorithms", 2006.
    """
    n = whole("n", n, 2)
    require_size(n, degree=1)
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


def _coins(purpose: str, rounds: Tensor, seeds: Sequence[int], places: Tensor) -> Tensor:
    """A uniform number per round, seed and place, `(rounds, seeds, places)`."""
    return uniform(stream_keys(purpose, seeds)[:, None], rounds[:, None, None], places)


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
        n, nonzeros = network.n, network.n + int(network.links_per_round)
        sparse = multiplied_sparse(n, nonzeros, dtype)
        size = max(nonzeros, network.numbers_per_round) if sparse else n * n
        draw = self._sparse if sparse else self._dense
        self._rounds = SeededRounds(self._groups, size, dtype, draw)

    def talk(self, t: int, memory: LinkMemory) -> Talk:
        """The products of a round."""
        return self._rounds.at(t)

    def messages_sent(self, steps: range) -> Tensor:
        """One to every neighbour of the round."""
        drawn, shape = self._links(steps), (len(steps), self._network.n, self._seeds)
        sent = torch.zeros(shape, dtype=torch.int64)
        sent.index_put_((drawn.round, drawn.sender, drawn.seed), torch.tensor(1), accumulate=True)
        return sent[:, :, self._groups.place.cpu()]

    def deliveries(self, t: int) -> Deliveries:
        """The links that are drawn for some seed."""
        drawn, n = self._links(range(t, t + 1)), self._network.n
        links, link = (drawn.receiver * n + drawn.sender).unique(return_inverse=True)
        arrived = torch.zeros(len(links), self._seeds, dtype=torch.bool)
        arrived[link, drawn.seed] = True
        return Deliveries(links // n, links % n, arrived[:, self._groups.place.cpu()])

    @property
    def _seeds(self) -> int:
        return len(self._groups.distinct)

    def _links(self, steps: range) -> DrawnLinks:
        return self._network.links(_rounds(steps), self._groups.distinct)

    def _dense(self, steps: range) -> list[Tensor]:
        """W_t of every seed, `(S, n, n)` for each round."""
        return list(self._network.matrices(_rounds(steps), self._groups.distinct))

    def _sparse(self, steps: range) -> list[list[Tensor]]:
        """W_t of every seed, in compressed rows."""
        each = self._each(steps)
        return [[next(each) for _ in range(self._seeds)] for _ in steps]

    def _each(self, steps: range) -> Iterator[Tensor]:
        """One matrix after the other, by round and by seed."""
        n, drawn = self._network.n, self._links(steps)
        number = drawn.round * self._seeds + drawn.seed
        counts = torch.bincount(number, minlength=len(steps) * self._seeds).tolist()
        entries = (z[number.argsort(stable=True)].split(counts) for z in drawn[2:])
        for row, col, weight in zip(*entries, strict=True):
            yield _with_rest(n, row, col, weight).csr(torch.float64, "cpu")


def _rounds(steps: range) -> Tensor:
    return torch.arange(steps.start, steps.stop)


def _with_rest(n: int, row: Tensor, col: Tensor, weight: Tensor) -> SparseMatrix:
    """W with these weights on the links, and the rest of each row with the node itself."""
    nodes = torch.arange(n)
    rest = weight.new_ones(n).index_add_(0, row, weight, alpha=-1)
    places = torch.cat([row, nodes]), torch.cat([col, nodes])
    return SparseMatrix.from_entries(n, *places, torch.cat([weight, rest]))
