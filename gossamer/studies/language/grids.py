"""The paper's search sets for Transformers, value for value, and finer ones for more methods."""

from typing import Any

from gossamer.algorithms import (
    DSGD,
    GTDSGD,
    GTNSTORM,
    Algorithm,
    DeMuon,
    DSGDBiClip,
    DSGDCClip,
    DSGDClip,
    DSGDGClip,
    DSGDm,
    GTAdam,
    GTClip,
    GTLayerNSGDm,
    GTNSGDm,
    GTSignSGDm,
    MomentumTracking,
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

MOMENTA = [0.8, 0.9, 0.95]
NORMS = [0.125, 0.25, 0.5, 1.0, 2.0]

MODERN: SearchSets = {
    "DSGD": (DSGD, grid_settings({"lr": [0.125, 0.25, 0.5, 1.0, 2.0]})),
    "Normalized DSGD": (NormalizedDSGD, grid_settings({"lr": [0.25, 0.5, 1.0, 2.0, 4.0]})),
    "DSGD-GClip": (
        DSGDGClip,
        grid_settings({"lr": [0.5, 1.0, 2.0, 4.0], "clip": [0.5, 1.0, 2.0, 4.0]}),
    ),
    "DSGD-CClip": (
        DSGDCClip,
        grid_settings({"lr": [5.0, 10.0, 20.0, 40.0], "clip": [1e-4, 2e-4, 4e-4, 8e-4]}),
    ),
    "GT-NSGDm": (GTNSGDm, grid_settings({"lr": NORMS, "momentum": MOMENTA})),
    "GT-LayerNSGDm": (
        GTLayerNSGDm,
        grid_settings({"lr": [2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3], "momentum": MOMENTA}),
    ),
    "GT-SignSGDm": (
        GTSignSGDm,
        grid_settings({"lr": [1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3], "momentum": MOMENTA}),
    ),
    "DeMuon": (DeMuon, grid_settings({"lr": [0.01, 0.02, 0.04, 0.08, 0.16], "momentum": MOMENTA})),
    "GT-Adam": (GTAdam, grid_settings({"lr": [5e-4, 1e-3, 2e-3, 4e-3], "beta1": MOMENTA})),
    "QG-DSGDm": (
        QGDSGDm,
        [
            {"lr": lr, "momentum": b, "quasi_momentum": b}
            for lr in (0.125, 0.25, 0.5, 1.0)
            for b in MOMENTA
        ],
    ),
    "DSGDm": (DSGDm, grid_settings({"lr": [0.025, 0.05, 0.1, 0.2], "momentum": MOMENTA})),
    "Momentum Tracking": (
        MomentumTracking,
        grid_settings({"lr": [0.025, 0.05, 0.1, 0.2], "momentum": MOMENTA}),
    ),
    "GT-DSGD": (GTDSGD, grid_settings({"lr": [0.125, 0.25, 0.5, 1.0, 2.0]})),
    "GT-Clip (gradient)": (
        GTClip,
        grid_settings({"lr": [0.5, 1.0, 2.0, 4.0], "clip": [0.5, 1.0, 2.0, 4.0]}),
    ),
    "GT-Clip (tracker)": (
        GTClip,
        grid_settings(
            {
                "lr": [0.5, 1.0, 2.0, 4.0],
                "clip": [0.5, 1.0, 2.0, 4.0],
                "clipped": ["tracker"],
            }
        ),
    ),
    "DSGD-BiClip": (
        DSGDBiClip,
        grid_settings(
            {
                "lr": [10.0, 20.0, 40.0],
                "clip": [1e-4, 2e-4, 4e-4],
                "floor": [1e-7, 1e-6, 1e-5],
            }
        ),
    ),
    "GT-NSTORM": (GTNSTORM, grid_settings({"lr": [0.25, 0.5, 1.0], "momentum": MOMENTA})),
}
"""Two values per factor of four or more, around what earlier searches in this setting found.

A search goes on by itself beyond these sets where its best lies on an edge.
"""
