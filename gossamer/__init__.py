"""Gossamer: decentralized optimization under heavy-tailed gradient noise.

n nodes hold private objectives f_i, talk only to their neighbours, and minimise
f = (1/n) Σ f_i from stochastic gradients whose noise has only a p-th moment, 1 < p ≤ 2.
"""

from gossamer.algorithms import (
    ALGORITHMS,
    DSGD,
    GTDSGD,
    Algorithm,
    DSGDCClip,
    DSGDClip,
    DSGDGClip,
    GTAdam,
    GTNSGDm,
    NormalizedDSGD,
    QGDSGDm,
    SClipEF,
)
from gossamer.distributed import DecentralizedOptimizer
from gossamer.errors import InvalidInput
from gossamer.networks import (
    Network,
    complete,
    erdos_renyi,
    exponential,
    from_graph,
    from_matrix,
    hypercube,
    laplacian,
    lazy_metropolis,
    metropolis,
    one_peer_exponential,
    path,
    random_regular,
    ring,
    star,
    time_varying,
    torus,
    uniform,
)
from gossamer.noise import NOISES, AlphaStable, Gaussian, Noise, Pareto, StudentT
from gossamer.problems import Problem, Quadratic, RobustRegression
from gossamer.simulate import METRICS, Run, Stack, Sweep, simulate, sweep
from gossamer.version import __version__

__all__ = [
    "ALGORITHMS",
    "DSGD",
    "GTDSGD",
    "METRICS",
    "NOISES",
    "Algorithm",
    "AlphaStable",
    "DSGDCClip",
    "DSGDClip",
    "DSGDGClip",
    "DecentralizedOptimizer",
    "GTAdam",
    "GTNSGDm",
    "Gaussian",
    "InvalidInput",
    "Network",
    "Noise",
    "NormalizedDSGD",
    "Pareto",
    "Problem",
    "QGDSGDm",
    "Quadratic",
    "RobustRegression",
    "Run",
    "SClipEF",
    "Stack",
    "StudentT",
    "Sweep",
    "__version__",
    "complete",
    "erdos_renyi",
    "exponential",
    "from_graph",
    "from_matrix",
    "hypercube",
    "laplacian",
    "lazy_metropolis",
    "metropolis",
    "one_peer_exponential",
    "path",
    "random_regular",
    "ring",
    "simulate",
    "star",
    "sweep",
    "time_varying",
    "torus",
    "uniform",
]
