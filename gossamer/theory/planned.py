"""The record of a plan: what the theorems were told, and all that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.algorithms import GTNSGDm
from gossamer.networks import Network
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


@dataclass(frozen=True)
class Plan:
    """What `plan` found; print it, or read its parts."""

    network: Network
    steps: int
    constants: Constants

    noise: str
    """Which noise was assumed, in words."""

    distance: float
    """‖x⁰ − x*‖, the way to go."""

    how: Mapping[str, str]
    """How each estimated constant is known."""

    @property
    def parameters(self) -> dict[str, Parameters]:
        """Rule → step size and momentum: "p known" is Theorem 1, "p unknown" Theorem 2."""
        return {
            name: self.constants.parameters(self.steps, p_known=known)
            for name, known in RULES.items()
        }

    @property
    def practical(self) -> GTNSGDm:
        """A setting that trains, by `practical_rule`: a rule of thumb, not a theorem's."""
        return practical_rule(self.steps, self.distance)

    @property
    def settings(self) -> dict[str, GTNSGDm]:
        """Both rules and the practical setting, by name, ready to run."""
        theirs = {name: rule.algorithm() for name, rule in self.parameters.items()}
        return {**theirs, "practical": self.practical}

    @property
    def bounds(self) -> dict[str, Bound]:
        """Rule → the bound at its parameters, by term; also that of the practical setting."""
        theirs = {
            name: theorem_bound(self.constants, self.steps, p_known=known)
            for name, known in RULES.items()
        }
        ours = self.practical
        lr, momentum = float(ours.lr), float(ours.momentum)
        return {**theirs, "practical": bound(self.constants, self.steps, lr, momentum)}

    def networks(self) -> list[Option]:
        """Other networks of as many nodes, by λ, under the rule that knows p."""
        candidates = [*families(self.constants.num_nodes), Candidate.of(self.network)]
        different = {candidate.name: candidate for candidate in candidates}.values()
        return [self._weigh(one) for one in sorted(different, key=lambda one: -one.lam)]

    def more_nodes(self) -> list[Option]:
        """1, 2, 4 and 8 times the nodes on ring, exponential and complete networks."""
        sizes = [factor * self.constants.num_nodes for factor in (1, 2, 4, 8)]
        return [self._weigh(one) for n in sizes for one in three_families(n)]

    def _weigh(self, one: Candidate) -> Option:
        return weigh(one, self.constants, self.steps)

    def tables(self) -> dict[str, tuple[Row, list[Row]]]:
        """Title → (columns, rows): inputs, parameters, bound by term, networks, nodes."""
        return tables(self)

    def advice(self) -> list[str]:
        """How far the steps reach, what dominates the bound, and what would help."""
        return advice(self)

    def __str__(self) -> str:
        return as_text(self)

    def figure(self) -> "Figure":
        """The bound of both theorems and of the practical setting, stacked by term."""
        from gossamer.theory.figure import bound_figure

        return bound_figure(self)
