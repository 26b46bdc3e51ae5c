"""Graphs and mixing matrices: who hears whom, with which weight, and how fast that averages (λ)."""

from gossamer.networks._time_varying import TimeVarying, one_peer_exponential, time_varying
from gossamer.networks.description import NETWORKS, from_description
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
from gossamer.networks.network import Network, StaticNetwork
from gossamer.networks.weights import laplacian, lazy_metropolis, max_degree, metropolis

__all__ = [
    "NETWORKS",
    "Mixer",
    "Network",
    "StaticNetwork",
    "TimeVarying",
    "complete",
    "erdos_renyi",
    "exponential",
    "from_description",
    "from_graph",
    "from_matrix",
    "hypercube",
    "laplacian",
    "lazy_metropolis",
    "line",
    "max_degree",
    "metropolis",
    "one_peer_exponential",
    "random_regular",
    "ring",
    "star",
    "time_varying",
    "torus",
]
