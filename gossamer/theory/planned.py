"""The record of a plan: what the theorems were told, and all that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.algorithms import GTNSGDm
from gossamer.networks import Network
from gossamer.networks.graphs import MOST_NODES
from gossamer.theory._bound import Bound, bound
from gossamer.theory.constants import Constants
from gossamer.theory.options import Candidate, Option, families, three_families, weigh
from gossamer.theory.practical import practical_rule
from gossamer.theory.printing import Row, advice, as_text, tables
from gossamer.theory.rates import theorem_bound
from gossamer.theory.rules import Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = {"p known": True, "p unknown": False}
"""How the two theorems are called in a plan: name → whether the nodes know p."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The result of `plan`; print it, or read its parts."""

    network: Network
    steps: int
    constants: Constants

    noise: str
    """The noise that the plan assumes, in words."""

    distance: float
    """‖x⁰ − x*‖, the distance from the start to the optimum."""

    how: Mapping[str, str]
    """Symbol of a constant, e.g. "L" → how it is known, in words."""

    @property
    def parameters(self) -> dict[str, Parameters]:
        """Step size and momentum of Theorem 1, called "p known", and Theorem 2, "p unknown"."""
        return {
            name: self.constants.parameters(self.steps, p_known=known)
            for name, known in RULES.items()
        }

    @property
    def practical(self) -> GTNSGDm:
        """GT-NSGDm with the setting of `practical_rule`, a rule of thumb without a theorem."""
        return practical_rule(self.steps, self.distance)

    @property
    def settings(self) -> dict[str, GTNSGDm]:
        """GT-NSGDm with the settings called "p known", "p unknown" and "practical"."""
        theirs = {name: rule.algorithm() for name, rule in self.parameters.items()}
        return {**theirs, "practical": self.practical}

    @property
    def bounds(self) -> dict[str, Bound]:
        """The bound, with its terms, for each of the three `settings`."""
        theirs = {
            name: theorem_bound(self.constants, self.steps, p_known=known)
            for name, known in RULES.items()
        }
        ours = self.practical
        lr, momentum = float(ours.lr), float(ours.momentum)
        return {**theirs, "practical": bound(self.constants, self.steps, lr, momentum)}

    def networks(self) -> list[Option]:
        """The bound on networks with the same number of nodes, from high to low λ.

        The plan's own network is one of them.
        """
        candidates = [*families(self.constants.num_nodes), Candidate.of(self.network)]
        different = {candidate.name: candidate for candidate in candidates}.values()
        return [self._weigh(one) for one in sorted(different, key=lambda one: -one.lam)]

    def more_nodes(self) -> list[Option]:
        """The bound on rings, exponential and complete networks of 1, 2, 4 or 8 times the nodes.

        Those of more than a million nodes are left out.
        """
        sizes = [factor * self.constants.num_nodes for factor in (1, 2, 4, 8)]
        built = [n for n in sizes if n <= MOST_NODES]
        return [self._weigh(one) for n in built for one in three_families(n)]

    def _weigh(self, one: Candidate) -> Option:
        return weigh(one, self.constants, self.steps)

    def tables(self) -> dict[str, tuple[Row, list[Row]]]:
        """The tables that `print` shows, as title → (names of the columns, rows)."""
        return tables(self)

    def advice(self) -> list[str]:
        """Sentences on how far the steps reach, what dominates the bound, and what would help."""
        return advice(self)

    def __repr__(self) -> str:
        return as_text(self)

    def figure(self) -> "Figure":
        """A figure with one bar for the bound of each of the three `settings`, split by term."""
        from gossamer.theory.figure import bound_figure

        return bound_figure(self)
