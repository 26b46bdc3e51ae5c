"""The links of a node, layer upon layer as its network is made."""

from gossamer.distributed.links.accelerated import AcceleratedLinks
from gossamer.distributed.links.compressed import CompressedLinks, LossyCompressedLinks
from gossamer.distributed.links.every import EveryLinks
from gossamer.distributed.links.late import LateLinks
from gossamer.distributed.links.lossy import LossyLinks
from gossamer.distributed.links.plain import Links, PlainLinks, Wire
from gossamer.distributed.links.rounds import rounds_of
from gossamer.distributed.mailboxes import Mailboxes
from gossamer.networks import Network
from gossamer.networks.accelerated import Accelerated
from gossamer.networks.compressed import Compressed
from gossamer.networks.every import Every

__all__ = ["Links", "Wire", "links_of"]


def links_of(network: Network, wire: Wire, seed: int, mailboxes: Mailboxes | None = None) -> Links:
    """How the node of `wire` mixes over `network`; `seed` is that of losses, partners and coins.

    With `mailboxes` it waits for nobody, on networks that `require_no_waiting` lets pass.
    """
    if isinstance(network, Every):
        return EveryLinks(network, links_of(network.inner, wire, seed, mailboxes))
    if mailboxes is not None:
        return LateLinks(rounds_of(network, wire.node, seed), wire, mailboxes)
    if isinstance(network, Accelerated):
        return AcceleratedLinks(network, links_of(network.inner, wire, seed))
    if isinstance(network, Compressed):
        kind = LossyCompressedLinks if network.loses_one_way else CompressedLinks
        return kind(network, rounds_of(network.inner, wire.node, seed), wire, seed)
    plain = LossyLinks if network.loses_one_way else PlainLinks
    return plain(rounds_of(network, wire.node, seed), wire)
