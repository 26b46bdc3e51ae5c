"""Other networks and other numbers of nodes, and what the bound makes of them."""

import dataclasses
import math
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.networks import Network, exponential, ring, torus
from gossamer.theory.constants import Constants
from gossamer.theory.rates import steps_for, theorem_bound


@dataclass(frozen=True)
class Option:
    """A network that could be chosen, its λ, and the bound of Theorem 1 on it."""

    name: str
    lam: float
    bound: float
    steps_to_match: float
    """How many steps this network needs to reach the bound of the plan."""


class Candidate(NamedTuple):
    """What the bound needs of a network."""

    name: str
    num_nodes: int
    lam: float

    @classmethod
    def of(cls, network: Network) -> "Candidate":
        """That of a network that has been built."""
        return cls(network.name, network.num_nodes, network.lam)

    @classmethod
    def complete(cls, n: int) -> "Candidate":
        """That of `complete(n)`, whose λ is known without its n² weights."""
        return cls(f"complete({n})", n, 0.0)


def weigh(one: Candidate, constants: Constants, steps: int) -> Option:
    """The bound after `steps` steps on another network, p being known.

    L, Δ0 and the gradients per node are taken to stay as they are.
    """
    growth = math.sqrt(one.num_nodes / constants.num_nodes)
    changed = dataclasses.replace(
        constants,
        num_nodes=one.num_nodes,
        lam=one.lam,
        stacked_grad_norm=growth * constants.stacked_grad_norm,
    )
    target = theorem_bound(constants, steps).total
    bound = theorem_bound(changed, steps).total
    return Option(one.name, one.lam, bound, steps_for(target, changed))


def three_families(n: int) -> list[Candidate]:
    """A weak, a good and the best network of n nodes."""
    return [Candidate.of(ring(n)), Candidate.of(exponential(n)), Candidate.complete(n)]


def families(n: int) -> list[Candidate]:
    """Well-known networks of n nodes."""
    networks: list[Network] = [exponential(n, directed=False)]
    if n >= 5:
        networks.append(ring(n, hops=2))
    rows = max(r for r in range(1, math.isqrt(n) + 1) if n % r == 0)
    if rows >= 3:
        networks.append(torus(rows, n // rows))
    return [*three_families(n), *map(Candidate.of, networks)]
