"""Links on which nobody waits: what is late counts when it comes."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.distributed.links.lossy import LossyLinks
from gossamer.distributed.links.plain import Wire
from gossamer.distributed.links.rounds import Rounds
from gossamer.distributed.links.sums import mixed
from gossamer.distributed.mailboxes import Mailboxes, Posted
from gossamer.networks import LinkMemory
from gossamer.networks.channel import Call


class LateLinks(LossyLinks):
    """Each node mixes at its own pace, with what has come until then.

    An opinion: the last one that j has sent stands for it, and this node's own until there is one,

        pull(z)_i = r_ii z_i + Σ_j r_ij ẑ_j,

    so that equal opinions stay equal. A node that cannot send, since its last message has not been
    taken yet, sends the newest opinion next time.

    A total: a sender adds c_ki z_i to what is in flight to k, f_ki, and sends all of it as soon as
    k has taken the message before; a receiver adds up whatever has come since it last looked. Sent
    in full or not at all, in order and never lost, the messages of a link are the differences of
    the running sum of all c_ki z_i, so that at any time

        Σ_i y_i + (what is in flight) = Σ_i (what node i has put in),

    for a tracker the gradients that the nodes computed last, however often each of them did.

    Why methods with a tracker stay exact: suppose that all nodes come to rest, with messages that
    take any bounded time. At node i, whose pace is p_i steps per second, as much of the total flows
    in as out: p_i (1 − c_ii) y_i = Σ_j p_j c_ij y_j. So the vector of the p_i y_i is an eigenvector
    of C for 1, and y_i = s π_i/p_i with C's positive Perron vector π and one s for all. Opinions at
    rest, x_i = Σ_j r_ij (x_j − α y_j), multiplied by R's positive left Perron vector ρ, say that
    Σ_i ρ_i y_i = 0. Hence s = 0: every tracker is 0, all x are equal, nothing is in flight, and by
    the sum above Σ_i ∇f_i(x) = 0. Paces change where trackers are on the way, not where they end.
    Linear convergence for small α is proved for this scheme, strongly convex f and bounded delays
    by Tian, Sun and Scutari, "Achieving linear convergence in distributed asynchronous multiagent
    optimization" (ASY-SONATA), 2020; see also Zhu et al., "R-FAST", 2023.

    Without a tracker each node puts in α g_i per step of its own, and those that step more often
    would count for more: such methods are refused.
    """

    def __init__(self, rounds: Rounds, wire: Wire, mailboxes: Mailboxes) -> None:
        super().__init__(rounds, wire)
        self._mailboxes = mailboxes

    def push(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """c_ii z_i and what has come."""
        round_t, node, site = self.rounds(call.t), self.wire.node, call.site
        self._mailboxes.total_sites.add(site)
        free = self._mailboxes.free(site, round_t.sends)
        loads = {k: self._loaded(k, k in free, round_t, z, memory) for k in round_t.sends}
        self._mailboxes.send(site, {k: loads[k] for k in free})
        total = z * round_t.shares.get(node, 0.0)
        if f"in_flight.{node}" in memory:
            total.add_(memory.pop(f"in_flight.{node}").to(z))
        length = z.numel() * self.wire.dtype.itemsize
        for content in self._mailboxes.arrived(site, round_t.hears, length).values():
            total.add_(content.view(self.wire.dtype).to(z))
        return total

    def pull(self, call: Call, z: Tensor, memory: dict[str, Tensor]) -> Tensor:
        """r_ii z_i and, of each neighbour, the last that it has told."""
        round_t, site, message = self.rounds(call.t), call.site, self.wire.rounded(z)
        free = self._mailboxes.free(site, round_t.sends)
        self._mailboxes.send(site, dict.fromkeys(free, message))
        newest = self._mailboxes.newest(site, round_t.hears, message.nbytes)
        told = {j: newest[j].view(message.dtype) if j in newest else message for j in round_t.hears}
        told[self.wire.node] = message
        weights = round_t.weights
        summands = [told[j] for j in weights]
        return mixed(list(weights.values()), summands, z, message, torch.empty_like(z))


def brought_in(
    memory: LinkMemory, told: Sequence[Sequence[Posted]], mailboxes: Mailboxes, wire: Wire
) -> LinkMemory:
    """`memory` with the totals that are still under way to this node, waited for.

    They are in flight to the node itself, until its next step takes them up.

    Args:
        memory: of the node's links.
        told: by node, how many parts of totals it has sent.
        mailboxes: where they come to.
        wire: how they travel.
    """
    name, sites = f"in_flight.{wire.node}", {k: dict(held) for k, held in enumerate(memory)}
    for sender, everything in enumerate(told):
        for posted in (one for one in everything if one.receiver == wire.node):
            content = mailboxes.outstanding(posted, sender)
            if content is not None:
                held, part = sites.setdefault(posted.site, {}), content.view(wire.dtype).double()
                held[name] = part + held[name] if name in held else part
    return tuple(sites.get(k, {}) for k in range(max(sites, default=-1) + 1))
