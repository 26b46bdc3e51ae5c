"""What the links of one node do in each round, which every node knows beforehand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import torch

from gossamer.networks.drops import Drops
from gossamer.networks.network import Network
from gossamer.networks.random_rounds import RandomRounds
from gossamer.networks.static import StaticNetwork


@dataclass(frozen=True)
class Round:
    """One round of node i. Both ends of a link read it from the same numbers, so they post alike.

    Args:
        sends: whom it sends to, sorted.
        hears: who sends to it, sorted.
        reaches: those of the former whom the message reaches.
        weights: r_ij of every j whose message arrives, and of itself, sorted by j.
        shares: c_ij likewise.
        gives: c_ki of every k that it sends to.
    """

    sends: tuple[int, ...]
    hears: tuple[int, ...]
    reaches: frozenset[int]
    weights: Mapping[int, float]
    shares: Mapping[int, float]
    gives: Mapping[int, float]


Rounds = Callable[[int], Round]
"""t ↦ the round t of a node."""


def rounds_of(network: Network, node: int, seed: int) -> Rounds:
    """The rounds of `node` on a network whose messages are neither compressed nor held back."""
    if isinstance(network, RandomRounds):
        return _once(lambda t: _drawn(network, node, t, seed))
    links = [_all(one, node) for one in network.rounds]
    if isinstance(network, Drops) and network.probability > 0:
        return _once(_Losing(network, node, seed, links))
    return lambda t: links[t % len(links)]


def _once(rounds: Rounds) -> Rounds:
    """Each round found out once, for all mixes of a step, which may be in threads of their own."""
    cached, lock = lru_cache(maxsize=1)(rounds), Lock()

    def locked(t: int) -> Round:
        with lock:
            return cached(t)

    return locked


def _all(network: StaticNetwork, node: int) -> Round:
    """Every message arrives.

    >>> from gossamer.networks import exponential
    >>> _all(exponential(4), 0).hears, _all(exponential(4), 0).sends
    ((2, 3), (1, 2))
    """
    sends = tuple(network.out_neighbors(node))
    weights, shares = network.neighbor_weights(node), network.neighbor_shares(node)
    gives = {k: network.neighbor_shares(k)[node] for k in sends}
    hears = tuple(network.in_neighbors(node))
    return Round(sends, hears, frozenset(sends), weights, shares, gives)


def _drawn(network: RandomRounds, node: int, t: int, seed: int) -> Round:
    """The links that the coins of round t give."""
    row = network.matrices(torch.tensor([t]), [seed])[0, 0, node].tolist()
    weights = {j: w for j, w in enumerate(row) if w > 0}
    others = tuple(j for j in weights if j != node)
    return Round(others, others, frozenset(others), weights, weights, weights)


class _Losing:
    """Rounds in which messages are lost."""

    def __init__(self, network: Drops, node: int, seed: int, links: list[Round]) -> None:
        self._node, self._links, self._both_ways = node, links, network.both_ways
        edges = network.edges
        ends = zip(edges.sender.tolist(), edges.receiver.tolist(), strict=True)
        self._place = {edge: place for place, edge in enumerate(ends)}
        self._losses = network.losses([seed])

    def __call__(self, t: int) -> Round:
        links, node, arrive = self._links[t % len(self._links)], self._node, self._losses.arrive(t)
        reaches = [k for k in links.sends if arrive[0, self._place[node, k]]]
        heard = [j for j in links.hears if arrive[0, self._place[j, node]]]
        weights = {j: links.weights[j] for j in heard}
        weights = dict(sorted({**weights, node: 1 - sum(weights.values())}.items()))
        if self._both_ways:
            return Round(tuple(reaches), tuple(heard), frozenset(reaches), weights, weights, {})
        shares = {j: c for j, c in links.shares.items() if j in weights}
        return Round(links.sends, links.hears, frozenset(reaches), weights, shares, links.gives)
