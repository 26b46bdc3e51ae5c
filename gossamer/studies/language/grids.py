"""The paper's search sets for Transformers, value for value, and finer ones around their best."""

from typing import Any

from gossamer.algorithms import (
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
from gossamer.simulation import grid_settings

PLAIN = {"lr": [1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0]}
CLIPPED = {"lr": [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0], "clip": [1e-3, 1e-2, 0.1, 1, 10, 100]}
WIDE = [5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0]
NORMALIZED = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
SIX_MOMENTA = [0.01, 0.2, 0.4, 0.6, 0.8, 0.99]

Settings = list[dict[str, float]]

SearchSets = dict[str, tuple[type[Algorithm[Any]], Settings]]
"""Method as the paper names it → class and the settings to try."""

TRANSFORMER: SearchSets = {
    "DSGD": (DSGD, grid_settings(PLAIN)),
    "DSGD-GClip": (DSGDGClip, grid_settings(CLIPPED)),
    "DSGD-CClip": (DSGDCClip, grid_settings(CLIPPED)),
    "GT-DSGD": (GTDSGD, grid_settings(PLAIN)),
    "GT-Adam": (GTAdam, grid_settings({"lr": WIDE, "cap": [1e-3, 1e-2, 0.1, 1.0, 10.0]})),
    "QG-DSGDm": (
        QGDSGDm,
        [{"lr": lr, "momentum": b, "quasi_momentum": b} for lr in WIDE for b in SIX_MOMENTA],
    ),
    "SClip-EF": (
        SClipEF,
        grid_settings(
            {
                "lr": [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0],
                "momentum": [0.01, 0.4, 0.8, 0.99],
                "scale": [0.1, 1.0, 10.0, 100.0],
                "clip": [0.01, 0.1, 1.0, 10.0],
            }
        ),
    ),
    "DSGD-Clip": (DSGDClip, grid_settings(CLIPPED)),
    "GT-NSGDm": (GTNSGDm, grid_settings({"lr": NORMALIZED, "momentum": SIX_MOMENTA})),
    "Normalized DSGD": (NormalizedDSGD, grid_settings({"lr": NORMALIZED})),
}
"""Method → class and the settings to try when training Transformers, in the order of the table.

GT-Adam's β₁ and β₂ are not searched: 0.9 and 0.999. Normalized DSGD is not in the paper's table;
it takes GT-NSGDm's step sizes.
"""

FINER: SearchSets = {
    "DSGD": (DSGD, grid_settings({"lr": [0.1, 0.2, 0.5, 1.0]})),
    "Normalized DSGD": (NormalizedDSGD, grid_settings({"lr": [0.5, 1.0, 2.0, 5.0]})),
    "DSGD-GClip": (
        DSGDGClip,
        [{"lr": s / c, "clip": c} for s in (0.5, 1.0, 2.0, 5.0) for c in (0.1, 0.5, 1.0, 2.0)],
    ),
    "DSGD-CClip": (
        DSGDCClip,
        [
            {"lr": s / c, "clip": c}
            for s in (2e-3, 5e-3, 1e-2, 2e-2)
            for c in (1e-4, 2e-4, 5e-4, 1e-3)
        ],
    ),
    "QG-DSGDm": (
        QGDSGDm,
        [
            {"lr": lr, "momentum": b, "quasi_momentum": b}
            for lr in (0.2, 0.5, 1.0)
            for b in (0.6, 0.8, 0.9)
        ],
    ),
    "GT-Adam": (GTAdam, grid_settings({"lr": [5e-4, 1e-3, 2e-3, 5e-3], "cap": [1.0]})),
    "GT-NSGDm": (
        GTNSGDm,
        grid_settings({"lr": [0.2, 0.5, 1.0, 2.0], "momentum": [0.6, 0.8, 0.9]}),
    ),
}
"""Two to four values per decade around what was best in the published causal setting.

A clipped method steps by at most lr · clip: that product is what is searched, for several levels.
"""
