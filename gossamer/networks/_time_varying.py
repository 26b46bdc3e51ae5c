"""Networks whose matrix changes from round to round."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from gossamer.errors import require, whole
from gossamer.networks.graphs import circulant, require_size
from gossamer.networks.matrices import Matrix, doubly_stochastic
from gossamer.networks.network import Network
from gossamer.networks.periodic import Periodic, require_contraction
from gossamer.networks.recipe import Recipe
from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True, eq=False, repr=False)
class TimeVarying(Periodic):
    """A network that repeats a cycle of τ rounds, W_{t mod τ} in round t; built by `time_varying`.

    A single round may have λ = 1, e.g. because some nodes have no link in it, but the product
    W_{τ−1} … W_0 of a cycle must have λ < 1. `weights` is this product, and `lam` is the τ-th
    root of ‖W_{τ−1} … W_0 − 11ᵀ/n‖₂.

    Args:
        cycle: the networks of rounds 0, …, τ − 1.
        recipe: how the network is built.
    """

    cycle: tuple[StaticNetwork, ...]
    recipe: Recipe

    @property
    def rounds(self) -> tuple[StaticNetwork, ...]:
        """The networks of rounds 0, …, period − 1."""
        return self.cycle

    def __getstate__(self) -> dict[str, Any]:
        return {"cycle": self.cycle, "recipe": self.recipe}


def time_varying(rounds: Iterable[Periodic | Matrix], *, name: str | None = None) -> TimeVarying:
    """A network that uses the given networks in turn, one per round, and then begins again.

    Args:
        rounds: networks or doubly stochastic matrices, all of the same size. A single matrix may
            have λ = 1, e.g. if only two nodes talk in its round, but all rounds together must
            have λ < 1.
        name: name of the network in results; by default made of the list of its rounds.

    In even rounds the pairs 0–1 and 2–3 talk, in odd rounds the pairs 1–2 and 3–0:

    >>> import torch
    >>> pairs = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]) / 2
    >>> others = pairs.roll((1, 1), (0, 1))
    >>> time_varying([pairs, others])
    time_varying([matrix_..., matrix_...]): 4 nodes, period 2, degree 1, λ = 0
    """
    given = [_part(one) for one in rounds]
    require(len(given) > 0, "rounds", "no round", "at least one network")
    expression = f"time_varying([{', '.join(recipe.expression for _, recipe in given)}])"
    data = {name: datum for _, recipe in given for name, datum in recipe.data.items()}
    cycle = [network for networks, _ in given for network in networks]
    return _repeated(cycle, Recipe(expression, data, name))


def one_peer_exponential(n: SupportsIndex) -> TimeVarying:
    """In round t, node i hears only node i − s (mod n) with s = 2^(t mod ⌈log₂ n⌉).

    W_t = (I + P_s)/2 with (P_s z)_i = z_{i−s}. Each node sends only one message per round, and if n
    is a power of two, log₂ n rounds average exactly.

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
    cycle = [network for matrix in matrices for network in _part(matrix)[0]]
    return _repeated(cycle, Recipe(f"one_peer_exponential({n})"))


def _part(one: Periodic | Matrix) -> tuple[tuple[StaticNetwork, ...], Recipe]:
    """The rounds that one item of a list stands for, and how it is written in the list."""
    if isinstance(one, Network):
        need = "networks that lose nothing and are not random, with doubly stochastic rounds"
        require(isinstance(one, Periodic) and one.balanced, "rounds", one.name, need)
        return one.rounds, one.recipe
    matrix = doubly_stochastic(one)
    recipe = Recipe.of_matrix(matrix)
    (name,) = recipe.data
    return (StaticNetwork(matrix, recipe),), Recipe(name, recipe.data)


def _repeated(cycle: Sequence[StaticNetwork], recipe: Recipe) -> TimeVarying:
    sizes = sorted({network.num_nodes for network in cycle})
    require(len(sizes) == 1, "rounds", f"networks of {sizes} nodes", "the same number of nodes")
    result = TimeVarying(tuple(cycle), recipe)
    require_contraction(result)
    return result
