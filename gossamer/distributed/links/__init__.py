"""The links of a node, layer upon layer as its network is made."""

from gossamer.distributed.links.accelerated import AcceleratedLinks
from gossamer.distributed.links.compressed import CompressedLinks, LossyCompressedLinks
from gossamer.distributed.links.every import EveryLinks
from gossamer.distributed.links.lossy import LossyLinks
from gossamer.distributed.links.plain import Links, PlainLinks, Wire
from gossamer.distributed.links.rounds import rounds_of
from gossamer.networks import Network
from gossamer.networks.accelerated import Accelerated
from gossamer.networks.compressed import Compressed
from gossamer.networks.drops import Drops
from gossamer.networks.every import Every
from gossamer.networks.modified import layers

__all__ = ["Links", "Wire", "compresses", "links_of", "loses_one_way"]


def links_of(network: Network, wire: Wire, seed: int) -> Links:
    """How the node of `wire` mixes over `network`; `seed` is that of losses, partners and coins."""
    if isinstance(network, Every):
        return EveryLinks(network, links_of(network.inner, wire, seed))
    if isinstance(network, Accelerated):
        return AcceleratedLinks(network, links_of(network.inner, wire, seed))
    if isinstance(network, Compressed):
        kind = LossyCompressedLinks if loses_one_way(network) else CompressedLinks
        return kind(network, rounds_of(network.inner, wire.node, seed), wire, seed)
    plain = LossyLinks if loses_one_way(network) else PlainLinks
    return plain(rounds_of(network, wire.node, seed), wire)


def loses_one_way(network: Network) -> bool:
    """Whether totals may be in flight between steps.

    >>> from gossamer.networks import ring
    >>> loses_one_way(ring(4).drops(0.1).every(2)), loses_one_way(ring(4).drops(0))
    (True, False)
    """
    losing = [one for one in layers(network) if isinstance(one, Drops) and one.probability > 0]
    return any(not one.both_ways for one in losing)


def compresses(network: Network) -> bool:
    """Whether its messages tell of public copies."""
    return any(isinstance(one, Compressed) for one in layers(network))
