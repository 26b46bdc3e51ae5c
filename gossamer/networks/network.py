"""Networks: who hears whom in each round, with which weight."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from gossamer.errors import InvalidInput, refuse, require
from gossamer.interval import Interval, within
from gossamer.networks.channel import Channel
from gossamer.networks.compressors import Compressor
from gossamer.networks.recipe import Recipe
from gossamer.text import below_one

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gossamer.networks.static import StaticNetwork


MOST_DRAWN = 200
"""Most nodes of a network that a notebook draws unasked."""


class Network(ABC):
    """n nodes that mix opinions by z ← R_t z and totals by z ← C_t z in round t.

    An *opinion*, e.g. the parameters x, is a quantity that the nodes average. A *total*, e.g. a
    gradient tracker y, is a quantity whose sum over the nodes must not change when the nodes mix.
    The rows of R_t and the columns of C_t sum to 1. On a balanced network R_t and C_t are the same
    doubly stochastic matrix W_t. Row i holds the weights of what node i receives.

    Attributes:
        recipe: the Python expression that builds the network, and the data that it needs.
    """

    recipe: Recipe
    modifiers: ClassVar[tuple[str, ...]] = ("every", "drops", "compressed", "accelerated")
    """Names of the methods that return a modified network, as in "ring(20).drops(0.1)"."""

    @property
    def name(self) -> str:
        """The Python expression that builds it, e.g. "ring(20, hops=2)", or its given name."""
        return self.recipe.name

    def describe(self) -> dict[str, Any]:
        """A description in plain JSON, from which `from_description` builds the network again.

        >>> from gossamer.networks import from_matrix, ring
        >>> ring(20, hops=2).describe()
        {'name': 'ring(20, hops=2)'}
        >>> from_matrix([[0.75, 0.25], [0.25, 0.75]], name="pair").describe()["data"]
        {'matrix_...': {'nodes': 2, 'entries': [[0, 0, 0.75], [0, 1, 0.25], ...]}}
        """
        return self.recipe.describe()

    # ------------------------------------------------------------------ who is linked to whom

    @property
    @abstractmethod
    def rounds(self) -> "tuple[StaticNetwork, ...]":
        """The networks of rounds 0, …, period − 1, as if no message were lost."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, n."""
        return self.rounds[0].matrix.size

    @property
    def period(self) -> int:
        """Number of rounds, τ, after which the links repeat; 1 for a static network."""
        return len(self.rounds)

    def at(self, t: int) -> "StaticNetwork":
        """The network of round t."""
        return self.rounds[t % self.period]

    @property
    def numbers_per_round(self) -> int:
        """The number of weights in a round, or of the random numbers that decide on them."""
        return max(one.matrix.values.numel() for one in self.rounds)

    @property
    def balanced(self) -> bool:
        """Whether R_t and C_t are the same matrix in every round."""
        return all(one.balanced for one in self.rounds)

    @property
    def symmetric(self) -> bool:
        """Whether R_t = C_t = W_t, and W_t = W_tᵀ, in every round."""
        return all(one.symmetric for one in self.rounds)

    @property
    def loses_one_way(self) -> bool:
        """Whether a message may be lost without its sender noticing.

        >>> from gossamer.networks import ring
        >>> ring(4).drops(0.1).every(2).loses_one_way, ring(4).drops(0).loses_one_way
        (True, False)
        """
        return False

    @property
    def compresses(self) -> bool:
        """Whether its messages are compressed."""
        return False

    @property
    def departure(self) -> str:
        """What sets it apart from one doubly stochastic W in every round; "" if nothing does.

        Of a modified network it is what the modification adds to that of the inner network.
        """
        if self.period > 1:
            return f"links change from round to round, with period {self.period}"
        return "" if self.balanced else "its one-way links are not balanced"

    # ------------------------------------------------------------------ how fast it averages

    @property
    def why_no_lam(self) -> str:
        """The reason why no λ describes how fast this network averages; "" if there is a λ."""
        return ""

    @abstractmethod
    def _lam(self) -> float: ...

    @cached_property
    def lam(self) -> float:
        """λ, the fraction of the nodes' disagreement that is left after one round, at worst.

        λ = ‖W − 11ᵀ/n‖₂ for a static network, and ‖W_{τ−1} … W_0 − 11ᵀ/n‖₂^{1/τ}, an average over
        the period, if there are τ rounds. If rounds are random, it is the share that is left in
        mean square, ‖E[WᵀW] − 11ᵀ/n‖₂^{1/2}.
        """
        if self.why_no_lam:
            raise InvalidInput(f"λ: {self.name} has none, since {self.why_no_lam}")
        return self._lam()

    @property
    def lam_note(self) -> str:
        """The sense in which λ holds if rounds are random, e.g. "in mean square"; otherwise ""."""
        return ""

    @property
    def speed(self) -> str:
        """λ as text, or the reason why there is none."""
        if self.why_no_lam:
            return f"no λ, since {self.why_no_lam}"
        return f"λ = {self.shown_lam}" + (f" {self.lam_note}" if self.lam_note else "")

    @property
    def shown_lam(self) -> str:
        """λ as text; values close to 1 are written as e.g. 1 − 3e-07."""
        return below_one(self.lam, ".6g")

    @property
    def spectral_gap(self) -> float:
        """1 − λ."""
        return 1 - self.lam

    def mixing_time(self, eps: float = 1e-3) -> int:
        """The number of rounds after which at most a share `eps` of the disagreement is left.

        This is the first multiple k of the period with λᵏ ≤ eps. It is exact if W is static and
        symmetric, since then ‖Wᵏ − 11ᵀ/n‖₂ = λᵏ; otherwise it is an upper bound.
        """
        within("eps", eps, Interval(0, 1))
        averages, way_out = self.lam < 1, "give the links more weight"
        require(averages, "network", f"{self.name} with λ = 1", "one with λ < 1", way_out)
        if self.lam == 0:
            return self.period
        periods = math.log(eps) / (self.period * math.log(self.lam))
        return self.period * math.ceil(periods - 1e-9)

    # ------------------------------------------------------------------ what it can be made into

    def every(self, k: int) -> "Network":
        """The same network, but nodes communicate only in every k-th step; other steps are local.

        >>> from gossamer.networks import ring
        >>> ring(20).every(5)
        ring(20).every(5): 20 nodes, degree 2, λ = 0.993387
        """
        from gossamer.networks.every import Every
        from gossamer.networks.modified import modify

        return modify(self, Every, k)

    def drops(
        self, probability: float, both_ways: bool = False, burst: float | None = None
    ) -> "Network":
        """The same network, but messages are lost at random.

        Args:
            probability: the probability with which each message is lost. All messages of a step
                from one node to another are lost together.
            both_ways: if True, a link that fails loses the messages in both directions, and both
                ends notice. If False, messages in the two directions are lost independently of each
                other.
            burst: mean number of rounds for which a failed link stays dead; by default each message
                is lost independently of earlier ones.

        >>> from gossamer.networks import ring
        >>> ring(20).drops(0.1, both_ways=True)
        ring(20).drops(0.1, both_ways=True): 20 nodes, degree 2, λ = 0.971642 in mean square
        """
        from gossamer.networks.drops import Drops
        from gossamer.networks.modified import modify

        return modify(self, Drops, probability, both_ways, burst)

    def compressed(self, compressor: Compressor, gamma: float | None = None) -> "Network":
        """The same network, but with compressed messages and error feedback, see `Compressed`.

        Args:
            compressor: e.g. `TopK(0.05)`.
            gamma: γ in (0, 1], how far a node moves towards the average of its neighbours in a mix;
                by default a value that suits the compressor.
        """
        from gossamer.networks.compressed import Compressed
        from gossamer.networks.modified import modify

        return modify(self, Compressed, compressor, gamma)

    def accelerated(self, k: int) -> "Network":
        """The same network with k exchanges per mix, weighted to average faster, see `Accelerated`.

        >>> from gossamer.networks import ring
        >>> ring(20).lam, ring(20).accelerated(3).lam
        (0.967..., 0.759...)
        """
        from gossamer.networks.accelerated import Accelerated
        from gossamer.networks.modified import modify

        return modify(self, Accelerated, k)

    def without(self, node: int) -> "Network":
        """The network that is left when `node` dies.

        The remaining nodes can build it without a message. Networks that change, and networks whose
        W is not symmetric, are refused; build a new network for the remaining nodes instead.
        """
        need = f"one that does not change, with W = Wᵀ, to go on without node {node}"
        way_out = "build the survivors' network anew, e.g. with gs.ring(n - 1)"
        refuse("network", self.name, need, way_out)

    @abstractmethod
    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """How a stack of runs with these seeds communicates over the network, in the simulator."""

    # ------------------------------------------------------------------ for people

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw every link of a period on `ax` (a new figure if None), with arrows if directed."""
        from gossamer.networks.drawing import draw

        return draw(self, ax)

    @property
    def degrees(self) -> str:
        """How many others a node hears and sends to in a round, as text, e.g. "degree 2"."""
        heard = _range(torch.cat([one.in_degrees for one in self.rounds]))
        sent = _range(torch.cat([one.out_degrees for one in self.rounds]))
        if heard != sent:
            return f"each hears {heard} and sends to {sent}"
        return f"degrees {heard}" if " to " in heard else f"degree {heard}"

    def facts(self) -> dict[str, str]:
        """Number of nodes, neighbours per node and speed of averaging, as text."""
        period = {"period": f"{self.period} rounds"} if self.period > 1 else {}
        nodes = {"nodes": f"{self.num_nodes:,}"}
        return nodes | period | {"graph": self.degrees, "speed": self.speed}

    def _repr_html_(self) -> str:
        """In notebooks: the facts, beside the drawing where there are not too many nodes."""
        from gossamer.display import beside, facts
        from gossamer.networks.drawing import element

        told = facts(self.name, self.facts())
        return told if self.num_nodes > MOST_DRAWN else beside(told, element(self))

    def __repr__(self) -> str:
        period = f"period {self.period}, " if self.period > 1 else ""
        nodes = f"{self.num_nodes} node" + ("s" if self.num_nodes > 1 else "")
        return f"{self.name}: {nodes}, {period}{self.degrees}, {self.speed}"


def _range(counts: torch.Tensor) -> str:
    """The least and the most, once if they are the same."""
    least, most = int(counts.min()), int(counts.max())
    return f"{least}" if least == most else f"{least} to {most}"
