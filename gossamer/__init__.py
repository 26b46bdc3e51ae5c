"""Gossamer: decentralized optimization under heavy-tailed gradient noise.

n nodes hold private objectives f_i, talk only to their neighbours, and minimize
f = (1/n) Σ f_i from stochastic gradients whose noise has only a p-th moment, 1 < p ≤ 2.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gossamer.algorithms import (
    ALGORITHMS,
    DSGD,
    EXTRA,
    GTDSGD,
    GTNSTORM,
    SCHEDULES,
    Algorithm,
    ATCTracking,
    Cosine,
    DeMuon,
    DIGing,
    DSGDBiClip,
    DSGDCClip,
    DSGDClip,
    DSGDGClip,
    DSGDm,
    ExactDiffusion,
    GTAdam,
    GTClip,
    GTLayerNSGDm,
    GTNSGDm,
    GTSignSGDm,
    InversePower,
    Linear,
    MomentumTracking,
    MoTEF,
    NormalizedDSGD,
    PushSum,
    QGDSGDm,
    Schedule,
    SClipEF,
    WarmUp,
)
from gossamer.errors import InvalidInput
from gossamer.executors import Workers
from gossamer.networks import (
    COMPRESSORS,
    NETWORKS,
    QSGD,
    Cast,
    Compressor,
    Network,
    RandK,
    Sign,
    TopK,
    complete,
    erdos_renyi,
    erdos_renyi_each_round,
    exponential,
    from_description,
    from_digraph,
    from_graph,
    from_matrix,
    hypercube,
    laplacian,
    lazy_metropolis,
    line,
    max_degree,
    metropolis,
    one_peer_exponential,
    random_digraph,
    random_matching,
    random_regular,
    ring,
    star,
    time_varying,
    torus,
)
from gossamer.noise import (
    NOISES,
    AlphaStable,
    Gaussian,
    MultivariateT,
    Noise,
    Pareto,
    SampledNoise,
    StudentT,
    SubGaussianStable,
)
from gossamer.problems import (
    PROBLEMS,
    FunctionProblem,
    L2Penalty,
    LanguageProblem,
    LeastSquares,
    LogisticRegression,
    ModuleProblem,
    NonconvexPenalty,
    Problem,
    Quadratic,
    RobustRegression,
    check_gradient,
)
from gossamer.simulation import (
    METRICS,
    Clock,
    Comparison,
    Halving,
    Recorded,
    Run,
    Stack,
    Status,
    Store,
    Sweep,
    Table,
    Tuned,
    check_method,
    compare,
    metric,
    side_by_side,
    simulate,
    sweep,
    tune,
)
from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer import colours as colours
    from gossamer import data as data
    from gossamer import distributed as distributed
    from gossamer import experiments as experiments
    from gossamer import models as models
    from gossamer import plots as plots
    from gossamer import report as report
    from gossamer import studies as studies
    from gossamer import svg as svg
    from gossamer import tails as tails
    from gossamer import theory as theory
    from gossamer import train as train
    from gossamer import watch as watch
    from gossamer.distributed import DecentralizedOptimizer

PARTS_ON_USE = (
    "colours",
    "data",
    "distributed",
    "experiments",
    "models",
    "plots",
    "report",
    "studies",
    "svg",
    "tails",
    "theory",
    "train",
    "watch",
)
"""Parts that `import gossamer` leaves out for speed: `gossamer.theory` is there when asked for."""

NAMES_ON_USE = {"DecentralizedOptimizer": "distributed"}
"""Names that are loaded with their part."""

__all__ = [
    "ALGORITHMS",
    "COMPRESSORS",
    "DSGD",
    "EXTRA",
    "GTDSGD",
    "GTNSTORM",
    "METRICS",
    "NETWORKS",
    "NOISES",
    "PROBLEMS",
    "QSGD",
    "SCHEDULES",
    "ATCTracking",
    "Algorithm",
    "AlphaStable",
    "Cast",
    "Clock",
    "Comparison",
    "Compressor",
    "Cosine",
    "DIGing",
    "DSGDBiClip",
    "DSGDCClip",
    "DSGDClip",
    "DSGDGClip",
    "DSGDm",
    "DeMuon",
    "DecentralizedOptimizer",
    "ExactDiffusion",
    "FunctionProblem",
    "GTAdam",
    "GTClip",
    "GTLayerNSGDm",
    "GTNSGDm",
    "GTSignSGDm",
    "Gaussian",
    "Halving",
    "InvalidInput",
    "InversePower",
    "L2Penalty",
    "LanguageProblem",
    "LeastSquares",
    "Linear",
    "LogisticRegression",
    "MoTEF",
    "ModuleProblem",
    "MomentumTracking",
    "MultivariateT",
    "Network",
    "Noise",
    "NonconvexPenalty",
    "NormalizedDSGD",
    "Pareto",
    "Problem",
    "PushSum",
    "QGDSGDm",
    "Quadratic",
    "RandK",
    "Recorded",
    "RobustRegression",
    "Run",
    "SClipEF",
    "SampledNoise",
    "Schedule",
    "Sign",
    "Stack",
    "Status",
    "Store",
    "StudentT",
    "SubGaussianStable",
    "Sweep",
    "Table",
    "TopK",
    "Tuned",
    "WarmUp",
    "Workers",
    "__version__",
    "check_gradient",
    "check_method",
    "compare",
    "complete",
    "erdos_renyi",
    "erdos_renyi_each_round",
    "exponential",
    "from_description",
    "from_digraph",
    "from_graph",
    "from_matrix",
    "hypercube",
    "laplacian",
    "lazy_metropolis",
    "line",
    "max_degree",
    "metric",
    "metropolis",
    "one_peer_exponential",
    "random_digraph",
    "random_matching",
    "random_regular",
    "ring",
    "side_by_side",
    "simulate",
    "star",
    "sweep",
    "time_varying",
    "torus",
    "tune",
]

if not TYPE_CHECKING:  # for a type checker, any name would be a module

    def __getattr__(name: str) -> Any:
        """What is loaded on use."""
        if name in PARTS_ON_USE:
            return import_module(f"gossamer.{name}")
        if name in NAMES_ON_USE:
            return getattr(import_module(f"gossamer.{NAMES_ON_USE[name]}"), name)
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name and part, loaded or not."""
    return sorted({*globals(), *PARTS_ON_USE, *NAMES_ON_USE})
