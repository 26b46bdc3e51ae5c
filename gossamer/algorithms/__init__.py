"""The decentralized methods; `ALGORITHMS` lists them by class name.

In the equations, xᵗ are the parameters of all nodes in step t, gᵗ are stochastic gradients at xᵗ,
and W is the mixing matrix. *The paper* is the one that introduced GT-NSGDm: Yu, Jakovetić and Kar
(2026).
"""

from typing import Any

from gossamer.algorithms.admissible import (
    Count,
    Fraction,
    Integers,
    OneOf,
    Order,
    Positive,
    Real,
    Scalar,
    StepSize,
    admissible_sets,
)
from gossamer.algorithms.algorithm import Algorithm, Stateless
from gossamer.algorithms.atc_tracking import ATCTracking
from gossamer.algorithms.described_schedules import SCHEDULES
from gossamer.algorithms.diging import DIGing
from gossamer.algorithms.dsgd import DSGD
from gossamer.algorithms.dsgd_biclip import DSGDBiClip
from gossamer.algorithms.dsgd_cclip import DSGDCClip
from gossamer.algorithms.dsgd_clip import DSGDClip
from gossamer.algorithms.dsgd_gclip import DSGDGClip
from gossamer.algorithms.dsgdm import DSGDm
from gossamer.algorithms.exact_diffusion import ExactDiffusion
from gossamer.algorithms.extra import EXTRA
from gossamer.algorithms.gt_adam import GTAdam
from gossamer.algorithms.gt_clip import GTClip
from gossamer.algorithms.gt_dsgd import GTDSGD
from gossamer.algorithms.gt_nsgdm import GTNSGDm
from gossamer.algorithms.gt_nstorm import GTNSTORM
from gossamer.algorithms.gt_steepest import DeMuon, GTLayerNSGDm, GTSignSGDm, GTSteepest
from gossamer.algorithms.local import Local, Shapes
from gossamer.algorithms.matrix_sign import newton_schulz
from gossamer.algorithms.mixing import Both, Mix, state_dtype, total_like
from gossamer.algorithms.momentum_tracking import MomentumTracking
from gossamer.algorithms.motef import MoTEF
from gossamer.algorithms.normalized_dsgd import NormalizedDSGD
from gossamer.algorithms.operators import (
    biclip,
    clip_components,
    clip_factor,
    descend,
    ema,
    estimate_and_track,
    inverse,
    inverse_norm,
    is_clipped,
    minus,
    smooth_clip,
    track,
)
from gossamer.algorithms.push_sum import PushSum
from gossamer.algorithms.qg_dsgdm import QGDSGDm
from gossamer.algorithms.schedule import (
    Cosine,
    FunctionSchedule,
    InversePower,
    Linear,
    Schedule,
    WarmUp,
)
from gossamer.algorithms.sclip_ef import SClipEF
from gossamer.interval import Interval
from gossamer.spec import build

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    algorithm.__name__: algorithm
    for algorithm in (
        DSGD,
        DSGDm,
        DSGDGClip,
        DSGDCClip,
        DSGDClip,
        DSGDBiClip,
        GTDSGD,
        GTClip,
        MomentumTracking,
        GTAdam,
        QGDSGDm,
        SClipEF,
        GTNSGDm,
        GTLayerNSGDm,
        GTSignSGDm,
        DeMuon,
        GTNSTORM,
        NormalizedDSGD,
        EXTRA,
        ExactDiffusion,
        DIGing,
        ATCTracking,
        MoTEF,
    )
}

MAKERS: dict[str, Any] = {"PushSum": PushSum}
"""What else makes a method, by name."""


def named(text: str) -> Algorithm[Any] | type[Algorithm[Any]]:
    """The method that `text` names: a class, or an instance if hyper-parameters are given.

    >>> named("PushSum(DSGD)") is PushSum(DSGD)
    True
    >>> named("PushSum(GTNSGDm(lr=0.1, momentum=0.8))")
    PushSum(GTNSGDm(lr=0.1, momentum=0.8))
    >>> named("GTNSGDm(lr=WarmUp(Cosine(0.1, 1000), 50), momentum=0.8)")
    GTNSGDm(lr=WarmUp(Cosine(0.1, 1000), 50), momentum=0.8)
    """
    known = {**ALGORITHMS, **MAKERS}
    name = text.strip()
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    return build("algorithm", text, known, ALGORITHMS, inside=SCHEDULES)


__all__ = [
    "ALGORITHMS",
    "DSGD",
    "EXTRA",
    "GTDSGD",
    "GTNSTORM",
    "MAKERS",
    "SCHEDULES",
    "ATCTracking",
    "Algorithm",
    "Both",
    "Cosine",
    "Count",
    "DIGing",
    "DSGDBiClip",
    "DSGDCClip",
    "DSGDClip",
    "DSGDGClip",
    "DSGDm",
    "DeMuon",
    "ExactDiffusion",
    "Fraction",
    "FunctionSchedule",
    "GTAdam",
    "GTClip",
    "GTLayerNSGDm",
    "GTNSGDm",
    "GTSignSGDm",
    "GTSteepest",
    "Integers",
    "Interval",
    "InversePower",
    "Linear",
    "Local",
    "Mix",
    "MoTEF",
    "MomentumTracking",
    "NormalizedDSGD",
    "OneOf",
    "Order",
    "Positive",
    "PushSum",
    "QGDSGDm",
    "Real",
    "SClipEF",
    "Scalar",
    "Schedule",
    "Shapes",
    "Stateless",
    "StepSize",
    "WarmUp",
    "admissible_sets",
    "biclip",
    "clip_components",
    "clip_factor",
    "descend",
    "ema",
    "estimate_and_track",
    "inverse",
    "inverse_norm",
    "is_clipped",
    "minus",
    "named",
    "newton_schulz",
    "smooth_clip",
    "state_dtype",
    "total_like",
    "track",
]
