"""What links remember, node by node as processes hold it, and stacked as the simulator does."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.distributed.links.rounds import rounds_of
from gossamer.errors import require
from gossamer.networks import LinkMemory, Network
from gossamer.networks.compressors.message import join
from gossamer.networks.drops import Drops
from gossamer.networks.edges import Edges
from gossamer.networks.every import Every
from gossamer.networks.link_names import from_named
from gossamer.networks.modified import Modified, layers


def apart(stacked: LinkMemory, network: Network, seed: int, steps: int) -> list[LinkMemory]:
    """Of each node, what the links of one run remember after `steps` steps.

    A copy that is behind, because the last message about it was lost, is sent whole with the next
    message; what a receiver then computes is the same. Not so of a total of which several messages
    are under way: the simulator remembers their sum alone.

    Args:
        stacked: for each mix of a step name → `(nodes or links, dim)`.
        network: whose links they are.
        seed: of the run.
        steps: taken so far.
    """
    nodes = [tuple(_own(site, network, node) for site in stacked) for node in _all(network)]
    for k, site in enumerate(stacked):
        if "in_flight" in site:
            for load, (sender, receiver) in zip(site["in_flight"], _ends(network), strict=True):
                if load.any():
                    nodes[sender][k][f"in_flight.{receiver}"] = load
        if "copy" in site:
            for t, sender, receiver in _unheard(network, seed, steps, "in_flight" in site):
                nodes[receiver][k].pop(f"copy.{sender}")
                nodes[receiver][k][f"missed.{sender}"] = torch.tensor([t])
                nodes[sender][k][f"unheard.{receiver}"] = join(site["copy"][sender])
    return nodes


def together(nodes: Sequence[dict[str, Tensor]], network: Network, x: Tensor) -> LinkMemory:
    """What the nodes' links remember, by name, as the simulator holds one run, `(…, 1, dim)`.

    Args:
        nodes: of each, what its links remember.
        network: whose links they are.
        x: of the run; copies are like it.
    """
    memories = [from_named(named) for named in nodes]
    sites = max(map(len, memories))
    filled = [[*memory, *({} for _ in range(sites - len(memory)))] for memory in memories]
    return tuple(_stacked(list(held), network, x) for held in zip(*filled, strict=True))


def _own(site: dict[str, Tensor], network: Network, node: int) -> dict[str, Tensor]:
    """What one node remembers if all that was sent has arrived."""
    if "copy" not in site:
        return {}
    own = {f"copy.{j}": site["copy"][j] for j in network.rounds[0].in_neighbors(node)}
    return own | {"copy": site["copy"][node]}


def _unheard(network: Network, seed: int, steps: int, late: bool) -> list[tuple[int, int, int]]:
    """(last round, sender, receiver) of every link whose message of that round was lost."""
    talks, lossy = steps, network
    while isinstance(lossy, Modified) and not isinstance(lossy, Drops):
        talks = talks // lossy.k if isinstance(lossy, Every) else talks
        lossy = lossy.inner
    found = []
    for node in _all(network):
        rounds = rounds_of(lossy, node, seed)
        lost = set(network.rounds[0].out_neighbors(node)) - rounds(talks - 1).reaches
        several = late and talks > 1 and lost - rounds(talks - 2).reaches
        need = f"at most one lost message per link where {network.name} pushes totals"
        way_out = "take more steps until they have arrived, or hand over before the first step"
        require(not several, "stack", f"several on the way from node {node}", need, way_out)
        found += [(talks - 1, node, receiver) for receiver in sorted(lost)]
    return found


def _stacked(held: list[dict[str, Tensor]], network: Network, x: Tensor) -> dict[str, Tensor]:
    """Copies by node, totals in flight by link."""
    stacked = {}
    if all("copy" in own for own in held):
        stacked["copy"] = torch.stack([own["copy"] for own in held])[:, None].to(x)
    loads = [z for own in held for name, z in own.items() if name.startswith("in_flight.")]
    if loads:
        nothing, ends = torch.zeros_like(loads[0]), _ends(network)
        rows = [held[sender].get(f"in_flight.{receiver}", nothing) for sender, receiver in ends]
        stacked["in_flight"] = torch.stack(rows)[:, None].to(x.device)
    return stacked


def _ends(network: Network) -> list[tuple[int, int]]:
    """(sender, receiver) of every link of a network that loses messages, in its order."""
    edges: Edges = next(one.edges for one in layers(network) if isinstance(one, Drops))
    return list(zip(edges.sender.tolist(), edges.receiver.tolist(), strict=True))


def _all(network: Network) -> range:
    return range(network.num_nodes)
