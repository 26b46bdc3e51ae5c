"""The one table of networks that shared tests run over: a new kind of network is one more row."""

from collections.abc import Callable

import torch
from networks.digraphs import perron_digraph
from torch import Tensor

import gossamer as gs
from gossamer.networks import LinkMemory
from gossamer.networks.compressed import Compressed
from gossamer.networks.modified import layers

NODES = 10


def digraph(n: int = NODES) -> gs.Network:
    """One-way links that nobody balanced: the Perron weights of its nodes differ 161-fold."""
    return gs.from_digraph(perron_digraph(n), name="digraph")


NETWORKS: dict[str, Callable[[], gs.Network]] = {
    "ring": lambda: gs.ring(NODES),
    "digraph": digraph,
    "digraph that loses messages": lambda: digraph().drops(0.3),
    "links that fail in bursts": lambda: gs.ring(NODES).drops(0.3, both_ways=True, burst=4),
    "talk in every 5th step": lambda: gs.ring(NODES).every(5),
    "top-k": lambda: gs.ring(NODES).compressed(gs.TopK(0.1)),
    "random-k": lambda: gs.ring(NODES).compressed(gs.RandK(0.1)),
    "quantized": lambda: gs.ring(NODES).compressed(gs.QSGD(4)),
    "sign": lambda: gs.ring(NODES).compressed(gs.Sign()),
    "cast": lambda: gs.ring(NODES).compressed(gs.Cast("float8_e4m3fn")),
    "accelerated": lambda: gs.ring(NODES).accelerated(3),
    "random partners": lambda: gs.random_matching(NODES),
    "random links": lambda: gs.erdos_renyi_each_round(NODES, 0.3),
    "all of it, one way": lambda: digraph().drops(0.1).compressed(gs.TopK(0.1)).every(4),
    "all of it, both ways": lambda: (
        gs.ring(NODES).drops(0.2, both_ways=True, burst=4).compressed(gs.QSGD(4))
    ),
}


def in_flight(network: gs.Network, memory: LinkMemory) -> Tensor:
    """What was sent and has not arrived of the totals of a step, summed over the links."""
    late = [site["in_flight"] for site in memory if "in_flight" in site]
    if not late:
        return torch.zeros(())
    gammas = [
        one.gamma_for(late[0].shape[-1]) for one in layers(network) if isinstance(one, Compressed)
    ]
    return sum(gammas, 1.0 - len(gammas)) * sum(z.sum(0) for z in late)
