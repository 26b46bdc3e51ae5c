"""Networks: who hears whom in each round, with which weight."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from gossamer.errors import InvalidInput, require
from gossamer.networks.channel import Channel
from gossamer.networks.compressors import Compressor
from gossamer.networks.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gossamer.networks.static import StaticNetwork


MOST_DRAWN = 200
"""Most nodes of a network that a notebook draws unasked."""


class Network(ABC):
    """n nodes that mix opinions, z ← R_t z, and totals, z ← C_t z.

    The rows of R_t sum to 1 and so do the columns of C_t. On a balanced network both are one doubly
    stochastic matrix W_t. Row i lists whom node i receives from.

    Attributes:
        recipe: how it is built.
    """

    recipe: Recipe
    modifiers: ClassVar[tuple[str, ...]] = ("every", "drops", "compressed", "accelerated")
    """Methods that make another network and may stand in its name."""

    @property
    def name(self) -> str:
        """Python that builds it, e.g. "ring(20, hops=2)", or the name that its maker gave it."""
        return self.recipe.name

    def describe(self) -> dict[str, Any]:
        """Enough to build it again by `from_description`, as plain JSON.

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
        """The links of rounds 0, …, period − 1, as they are when no message is lost."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes, n."""
        return self.rounds[0].matrix.size

    @property
    def period(self) -> int:
        """Number of rounds, τ, after which the links repeat; 1 for a static network."""
        return len(self.rounds)

    def at(self, t: int) -> "StaticNetwork":
        """The links of round t."""
        return self.rounds[t % self.period]

    @property
    def balanced(self) -> bool:
        """Whether a node is heard with as much weight as it hears: R_t = C_t in every round."""
        return all(one.balanced for one in self.rounds)

    @property
    def loses_one_way(self) -> bool:
        """Whether a message may be lost that its sender takes for sent.

        >>> from gossamer.networks import ring
        >>> ring(4).drops(0.1).every(2).loses_one_way, ring(4).drops(0).loses_one_way
        (True, False)
        """
        return False

    @property
    def compresses(self) -> bool:
        """Whether its messages tell of public copies."""
        return False

    # ------------------------------------------------------------------ how fast it averages

    @property
    def why_no_lam(self) -> str:
        """The reason why no λ says how fast this network averages; "" if one does."""
        return ""

    @abstractmethod
    def _lam(self) -> float: ...

    @cached_property
    def lam(self) -> float:
        """λ, the share of the disagreement that a round leaves, on average over a period.

        ‖W_{τ−1} … W_0 − 11ᵀ/n‖₂^{1/τ}, which is ‖W − 11ᵀ/n‖₂ when static. Of random rounds it is
        the share that is left in mean square, ‖E[WᵀW] − 11ᵀ/n‖₂^{1/2}.
        """
        if self.why_no_lam:
            raise InvalidInput(f"λ: {self.name} has none, since {self.why_no_lam}")
        return self._lam()

    @property
    def lam_note(self) -> str:
        """In what sense λ is meant where rounds are random, e.g. "in mean square"; else ""."""
        return ""

    @property
    def speed(self) -> str:
        """λ in words, or why there is none."""
        if self.why_no_lam:
            return f"no λ, since {self.why_no_lam}"
        return f"λ = {self.lam:.6g}" + (f" {self.lam_note}" if self.lam_note else "")

    @property
    def spectral_gap(self) -> float:
        """1 − λ."""
        return 1 - self.lam

    def mixing_time(self, eps: float = 1e-3) -> int:
        """Rounds until disagreement is at most `eps` of what it was: the first k with λᵏ ≤ eps.

        In whole periods. Exact when W is static and symmetric, as then ‖Wᵏ − 11ᵀ/n‖₂ = λᵏ; an
        upper bound otherwise.
        """
        require(0 < eps < 1, "eps", eps, "a number in (0, 1)")
        if self.lam == 0:
            return self.period
        periods = math.log(eps) / (self.period * math.log(self.lam))
        return self.period * math.ceil(periods - 1e-9)

    # ------------------------------------------------------------------ what it can be made into

    def every(self, k: int) -> "Network":
        """The network that talks in every k-th step only, with local steps between.

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
        """The network that loses messages.

        Args:
            probability: of every message to be lost.
            both_ways: whether a link fails for both directions at once and both ends notice.
                Otherwise each way loses its messages by itself.
            burst: mean number of rounds that a link stays dead once it is; by default each message
                is lost independently of those before.

        >>> from gossamer.networks import ring
        >>> ring(20).drops(0.1, both_ways=True)
        ring(20).drops(0.1, both_ways=True): 20 nodes, degree 2, λ = 0.971642 in mean square
        """
        from gossamer.networks.drops import Drops
        from gossamer.networks.modified import modify

        return modify(self, Drops, probability, both_ways, burst)

    def compressed(self, compressor: Compressor, gamma: float | None = None) -> "Network":
        """The network whose messages are compressed, with error feedback.

        Args:
            compressor: e.g. `TopK(0.05)`.
            gamma: γ in (0, 1], how far a node moves towards what its neighbours told; by default
                one that suits the compressor.
        """
        from gossamer.networks.compressed import Compressed
        from gossamer.networks.modified import modify

        return modify(self, Compressed, compressor, gamma)

    def accelerated(self, k: int) -> "Network":
        """The network that exchanges k times per step, weighted by Chebyshev's polynomials.

        >>> from gossamer.networks import ring
        >>> ring(20).lam, ring(20).accelerated(3).lam
        (0.967..., 0.759...)
        """
        from gossamer.networks.accelerated import Accelerated
        from gossamer.networks.modified import modify

        return modify(self, Accelerated, k)

    def without(self, node: int) -> "Network":
        """The survivors' network after `node` died, where that can be had without a message."""
        raise InvalidInput(
            f"network: got {self.name}, need one that does not change, with W = Wᵀ, to go on "
            f"without node {node}; build the survivors' network anew, e.g. with gs.ring(n - 1)"
        )

    @abstractmethod
    def channel(
        self, seeds: Sequence[int], dtype: torch.dtype, device: torch.device | str
    ) -> Channel:
        """How stacked runs with these seeds talk over it, in the simulator."""

    # ------------------------------------------------------------------ for people

    def draw(self, ax: "Axes | None" = None) -> "Axes":
        """Draw every link of a period on `ax` (a new figure if None), with arrows if directed."""
        from gossamer.networks.drawing import draw

        return draw(self, ax)

    @property
    def degrees(self) -> str:
        """How many others a node hears in a round, in words."""
        degrees = torch.cat([one.in_degrees for one in self.rounds])
        least, most = int(degrees.min()), int(degrees.max())
        return f"degree {least}" if least == most else f"degrees {least} to {most}"

    def facts(self) -> dict[str, str]:
        """Nodes, neighbours and speed, in words."""
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
