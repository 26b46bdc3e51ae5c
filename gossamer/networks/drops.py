"""Networks that lose messages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.interval import FRACTION, Interval, within
from gossamer.networks.channel import Call, Channel, Deliveries, RememberingChannel
from gossamer.networks.edges import Edges
from gossamer.networks.losses import BLOCK_ROUNDS, Losses
from gossamer.networks.modified import Modified
from gossamer.networks.periodic import Periodic
from gossamer.networks.seeded import SeededRounds
from gossamer.networks.sparse import SparseMatrix, compressed_rows
from gossamer.networks.spectrum import consensus_norm
from gossamer.networks.static import multiplied_sparse
from gossamer.seeding import SeedGroups


@dataclass(frozen=True, repr=False)
class Drops(Modified):
    """A network that loses messages at random, but no part of a total.

    With `both_ways=True`, a link that fails is dead in both directions for the round, and both ends
    know. Each end adds the weight of the link to its own weight, so that W_t stays doubly
    stochastic.

    With `both_ways=False` (the default), the messages in the two directions of a link are lost
    independently of each other. If an opinion does not arrive, the receiver uses its own instead,
    so that the rows of R_t still sum to 1. A share of a total that does not arrive is not lost but
    late: it is added to what waits on the link, f ← f + c z, and the next message that arrives
    brings all of f. So the sender must learn which messages arrived, as it does here, where losses
    are simulated. (There is an alternative without this knowledge, which is not used here: the
    sender sends the running sum of all c z, and the receiver subtracts the sum that it received
    before. This gives the same numbers but needs more digits.)

    Reference: Vaidya, Hadjicostis and Domínguez-García, "Distributed algorithms for consensus and
    coordination in the presence of packet-dropping communication links", 2011; Tian, Sun and
    Scutari, "ASY-SONATA", 2018.
    """

    probability: float
    both_ways: bool = False
    burst: float | None = None
    place: ClassVar[int] = 0

    def __post_init__(self) -> None:
        p = within("probability", self.probability, FRACTION, "0.1 loses one message in ten")
        if self.burst is not None:
            long = Interval(1 / (1 - p), math.inf, closed_low=True)
            within("burst", self.burst, long, "independent losses last 1/(1 − probability) rounds")
        rounds = isinstance(self.inner, Periodic)
        need = "a network whose links are not random already"
        require(rounds, "drops", self.inner.name, need, "draw fewer links instead")
        two_way = not self.both_ways or self.inner.symmetric
        need = "W = Wᵀ: a link fails both ways only where there are two"
        way_out = "leave both_ways out, or take an undirected network, e.g. "
        way_out += "exponential(8, directed=False)"
        require(two_way, "both_ways", self.inner.name, need, way_out)

    @property
    def call(self) -> str:
        """The Python call that makes this modification, e.g. "drops(0.1)"."""
        both = ", both_ways=True" if self.both_ways else ""
        burst = "" if self.burst is None else f", burst={self.burst}"
        return f"drops({self.probability}{both}{burst})"

    @property
    def departure(self) -> str:
        """Losses, if there are any."""
        return "messages are lost" if self.probability > 0 else ""

    @property
    def loses_one_way(self) -> bool:
        """True, unless links fail both ways or nothing is lost."""
        return self.probability > 0 and not self.both_ways

    @property
    def why_no_lam(self) -> str:
        """The reason why there is no λ (with one-way losses, W_t is not doubly stochastic)."""
        if not self.loses_one_way:
            return self.inner.why_no_lam
        return "when a message is lost, the weights of that round are not doubly stochastic"

    @property
    def lam_note(self) -> str:
        """The sense in which λ holds (rounds are random unless nothing is lost)."""
        if self.probability == 0:
            return self.inner.lam_note
        return "in mean square" + ("" if self.burst is None else ", bursts left out of account")

    def _lam(self) -> float:
        """‖M − 11ᵀ/n‖^{1/2τ} with M = E[W₀ … E[W_{τ−1} W_{τ−1}] … W₀], from within outwards."""
        if self.probability == 0:
            return self.inner.lam
        nodes = torch.arange(self.num_nodes)
        mean_square = SparseMatrix.from_entries(
            self.num_nodes, nodes, nodes, torch.ones(len(nodes))
        )
        for one in reversed(self.inner.rounds[1:]):
            mean_square = SparseMatrix.sum_of(*self._around(one.matrix, mean_square))
        terms = self._around(self.inner.rounds[0].matrix, mean_square)
        return consensus_norm(*terms) ** (0.5 / self.period)

    def _around(self, W: SparseMatrix, M: SparseMatrix) -> tuple[list[SparseMatrix], ...]:
        """E[W M W] = W̄ M W̄ + p(1 − p) Σ w² (M_ii + M_jj − 2M_ij) L over the links i—j.

        W̄ is the mean and L the Laplacian of a link. Returns the factors of the two terms.
        """
        p, nodes = self.probability, torch.arange(self.num_nodes)
        row, col = torch.cat([W.row, nodes]), torch.cat([W.col, nodes])
        kept = torch.cat([(1 - p) * W.values, torch.full(nodes.shape, p, dtype=torch.float64)])
        mean = SparseMatrix.from_entries(self.num_nodes, row, col, kept)
        own = M.at(nodes, nodes)
        apart = own[W.row] + own[W.col] - 2 * M.at(W.row, W.col)  # 0 where i = j
        spread = p * (1 - p) * W.values.square() * apart
        row, col = torch.cat([W.row, W.row]), torch.cat([W.row, W.col])
        links = SparseMatrix.from_entries(self.num_nodes, row, col, torch.cat([spread, -spread]))
        return [mean, M, mean], [links]

    @property
    def edges(self) -> Edges:
        """The links of all rounds, with their weights."""
        assert isinstance(self.inner, Periodic)
        return self.inner.edges

    @property
    def messages_per_link(self) -> float:
        """Mean number of messages on a link per round, if lost ones are sent again with the next.

        This is 1 + p b, where p is the probability of a loss and b the mean length of a burst: with
        probability p the last message was lost, and then b messages in a row, on average, are sent
        again. For independent losses b = 1/(1 − p), which gives 1/(1 − p) messages.
        """
        p = self.probability
        return 1 / (1 - p) if self.burst is None else 1 + p * self.burst

    def losses(self, seeds: Sequence[int]) -> Losses:
        """Which messages on `edges` are lost in runs with these seeds."""
        refresh = 1.0 if self.burst is None else 1 / (self.burst * (1 - self.probability))
        links = self.edges.pair if self.both_ways else self.edges.number
        return Losses(self.probability, refresh, seeds, links)

    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """A channel that loses messages; that of the inner network if the probability is 0."""
        if self.probability == 0:
            return self.inner.channel(seeds, dtype, device)
        return LossyChannel(self, seeds, dtype, device)


class LossyChannel(RememberingChannel):
    """Runs whose messages are lost, each seed's its own."""

    def __init__(
        self, network: Drops, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self._network, self._both_ways = network, network.both_ways
        self._edges = network.edges.to(device)
        self._dtype, self._device = dtype, device
        self._groups = SeedGroups.of(seeds, device)
        self._losses = network.losses(self._groups.distinct)
        n = network.num_nodes
        nonzeros = len(self._edges) + n
        if multiplied_sparse(n, nonzeros, dtype):
            self._rows = RowsOfLinks.of(self._edges)
            self._rounds = SeededRounds(self._groups, nonzeros, dtype, self._sparse_matrices)
        else:
            self._rounds = SeededRounds(self._groups, n * n, dtype, self._matrices)

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """Σ_j r_ij z_j over what arrived; the weight of the rest is one's own."""
        return self._rounds.at(call.t).pull(z)

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """C z, and what does not arrive stays on its link."""
        if self._both_ways:
            return self._rounds.at(call.t).push(z)
        edges, place = self._edges, call.t % self._edges.period
        shares, kept = (c[place].to(z)[:, None, None] for c in (edges.shares, edges.kept))
        load = z.index_select(0, edges.sender).mul_(shares)
        if "in_flight" in memory:
            load.add_(memory["in_flight"])
        brought = self._groups.scale(load.to(self._dtype), self._arrived(call.t)).to(z.dtype)
        memory["in_flight"] = load.sub_(brought)
        return (z * kept).index_add_(0, edges.receiver, brought)

    def split(self, call: Call, message: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """C q of messages q, in float64, likewise."""
        return self.push(call, message.double(), memory)

    def messages_sent(self, steps: range) -> Tensor:
        """One on every link that is tried."""
        return self._by_sender(self._tried(steps))

    def messages(self, steps: range) -> tuple[Tensor, Tensor]:
        """How many each node sends, and how many of them were first tried in round 0.

        Those that were lost are sent again with the next one.
        """
        rounds = torch.arange(steps.start, steps.stop)[:, None, None]
        tried, heard = self._tried(steps), self._last_heard(steps)
        again = self._by_sender(tried * (rounds - heard))
        return again, self._by_sender(tried & (heard < 0))

    def deliveries(self, t: int) -> Deliveries:
        """What is not lost."""
        arrived = self._arrived(t)[:, self._groups.place]
        return Deliveries(self._edges.receiver, self._edges.sender, arrived)

    def _tried(self, steps: range) -> Tensor:
        """Which links are used, boolean `(steps, E, S)`, or `(steps, E, 1)`.

        A lost message was sent all the same, unless both ends know that the link is dead.
        """
        active = self._network.edges.active(torch.arange(steps.start, steps.stop))[:, :, None]
        return active & self._alive(steps) if self._both_ways else active

    def _alive(self, steps: range) -> Tensor:
        """Which links lose nothing, boolean `(steps, E, S)`."""
        return torch.stack([self._losses.arrive(t) for t in steps]).transpose(1, 2)

    def _last_heard(self, steps: range) -> Tensor:
        """The last round before each step in which a link was alive, else −1; `(steps, E, S)`."""
        begin = max(0, steps.start - BLOCK_ROUNDS)
        while True:
            rounds = torch.arange(begin, steps.stop)[:, None, None]
            last = torch.where(self._alive(range(begin, steps.stop)), rounds, -1).cummax(0).values
            before = torch.cat([torch.full_like(last[:1], -1), last[:-1]])[steps.start - begin :]
            if begin == 0 or bool((before[0] >= 0).all()):
                return before
            begin = max(0, 2 * begin - steps.start)  # look twice as far back

    def _by_sender(self, per_link: Tensor) -> Tensor:
        """Sums over the links of each node, `(steps, nodes, runs)`, or `(steps, nodes, 1)`."""
        steps, _, seeds = per_link.shape
        sums = torch.zeros(steps, self._network.num_nodes, seeds, dtype=torch.int64)
        sums.index_add_(1, self._network.edges.sender, per_link.long())
        return sums if seeds == 1 else sums[:, :, self._groups.place.cpu()]

    def _arrived(self, t: int) -> Tensor:
        """Which links bring something in round t, boolean `(E, S)`."""
        return self._losses.arrive(t).T.to(self._device) & self._edges.active(t)[:, None]

    def _matrices(self, rounds: range) -> list[Tensor]:
        """R_t of every seed, `(S, n, n)` for each round."""
        edges, n = self._edges, self._edges.num_nodes
        heard = self._heard(rounds)
        matrices = heard.new_zeros(*heard.shape[:2], n, n)
        matrices[:, :, edges.receiver, edges.sender] = heard
        matrices.diagonal(dim1=2, dim2=3).copy_(1 - matrices.sum(3))
        return list(matrices)

    def _sparse_matrices(self, rounds: range) -> list[list[Tensor]]:
        """R_t of every seed, in compressed rows."""
        return [[self._rows.matrix(row) for row in seeds] for seeds in self._heard(rounds)]

    def _heard(self, rounds: range) -> Tensor:
        """The weights of what arrives, `(rounds, S, E)`."""
        arrived = self._alive(rounds).to(self._device).transpose(1, 2)
        return arrived * self._edges.weights[[t % self._edges.period for t in rounds], None]


@dataclass(frozen=True, eq=False)
class RowsOfLinks:
    """Where the links, and the nodes themselves, stand in compressed rows.

    Args:
        receiver: of each link.
        crow: where each row starts.
        col: sender of each link, or the node itself.
        order: of the entries, which are the links first and then the nodes.
    """

    receiver: Tensor
    crow: Tensor
    col: Tensor
    order: Tensor

    @classmethod
    def of(cls, edges: Edges) -> "RowsOfLinks":
        """Of all links of a network."""
        n, nodes = edges.num_nodes, torch.arange(edges.num_nodes, device=edges.sender.device)
        row, col = torch.cat([edges.receiver, nodes]), torch.cat([edges.sender, nodes])
        order = torch.argsort(row * n + col)
        crow = torch.searchsorted(row[order], torch.arange(n + 1, device=row.device))
        return cls(edges.receiver, crow, col[order], order)

    def matrix(self, heard: Tensor) -> Tensor:
        """R with the weights `heard` on the links, `(E,)`, and the rest with the nodes."""
        rest = heard.new_ones(len(self.crow) - 1).index_add_(0, self.receiver, heard, alpha=-1)
        return compressed_rows(self.crow, self.col, torch.cat([heard, rest])[self.order])
