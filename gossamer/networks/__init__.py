"""Graphs and mixing matrices: who hears whom, with which weight, and how fast that averages (λ).

In every round, each node mixes its own values with those that it hears:

- An *opinion*, e.g. the parameters x, is a quantity that the nodes average. A node replaces its
  opinion by a weighted average of what it hears and its own, z ← R z; this is called *pull*.
- A *total*, e.g. a gradient tracker y, is a quantity whose sum over the nodes must not change when
  the nodes mix. A node splits its total into shares for its receivers and itself, z ← C z; this is
  called *push*.

On a *balanced* network R and C are the same doubly stochastic matrix W. On any other network,
repeated mixing turns the opinions into a weighted average and leaves every node a fixed share of a
total. These weights and shares are called the *Perron weights* of the network.

λ is the fraction of the nodes' disagreement that is left after one round, in the worst case; the
smaller, the better. Compressors send short messages about z − ĥ, where the *public copy* ĥ is what
the neighbours know about a node's z.
"""

from gossamer.networks._time_varying import TimeVarying, one_peer_exponential, time_varying
from gossamer.networks.accelerated import Accelerated
from gossamer.networks.chance import Coins
from gossamer.networks.channel import Call, Channel, LinkMemory, Talk
from gossamer.networks.compressed import Compressed
from gossamer.networks.compressors import (
    COMPRESSORS,
    QSGD,
    Cast,
    Compressor,
    RandK,
    Sign,
    TopK,
)
from gossamer.networks.description import NETWORKS, from_description, from_text
from gossamer.networks.digraphs import from_digraph, random_digraph
from gossamer.networks.drops import Drops
from gossamer.networks.every import Every
from gossamer.networks.graphs import (
    complete,
    erdos_renyi,
    exponential,
    from_graph,
    hypercube,
    line,
    random_regular,
    ring,
    star,
    torus,
)
from gossamer.networks.matrices import from_matrix
from gossamer.networks.mixer import Mixer
from gossamer.networks.modified import Modified
from gossamer.networks.network import Network
from gossamer.networks.random_rounds import RandomRounds, erdos_renyi_each_round, random_matching
from gossamer.networks.static import StaticNetwork
from gossamer.networks.weights import laplacian, lazy_metropolis, max_degree, metropolis

__all__ = [
    "COMPRESSORS",
    "NETWORKS",
    "QSGD",
    "Accelerated",
    "Call",
    "Cast",
    "Channel",
    "Coins",
    "Compressed",
    "Compressor",
    "Drops",
    "Every",
    "LinkMemory",
    "Mixer",
    "Modified",
    "Network",
    "RandK",
    "RandomRounds",
    "Sign",
    "StaticNetwork",
    "Talk",
    "TimeVarying",
    "TopK",
    "complete",
    "erdos_renyi",
    "erdos_renyi_each_round",
    "exponential",
    "from_description",
    "from_digraph",
    "from_graph",
    "from_matrix",
    "from_text",
    "hypercube",
    "laplacian",
    "lazy_metropolis",
    "line",
    "max_degree",
    "metropolis",
    "one_peer_exponential",
    "random_digraph",
    "random_matching",
    "random_regular",
    "ring",
    "star",
    "time_varying",
    "torus",
]
