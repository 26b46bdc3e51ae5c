"""The paper's search sets, value for value."""

from typing import Any

from gossamer.algorithms import (
    DSGD,
    GTDSGD,
    Algorithm,
    DSGDClip,
    DSGDGClip,
    GTNSGDm,
    SClipEF,
    admissible_sets,
)

STEP_SIZES = [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0]
MOMENTA = [0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
CLIP_LEVELS = [1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0]

Grid = dict[str, list[float]]

SYNTHETIC: dict[str, tuple[type[Algorithm[Any]], Grid]] = {
    "DSGD": (DSGD, {"lr": STEP_SIZES}),
    "GT-DSGD": (GTDSGD, {"lr": STEP_SIZES}),
    "DSGD-Clip": (DSGDClip, {"lr": STEP_SIZES, "clip": CLIP_LEVELS, "clip_exponent": [0.4]}),
    "DSGD-Clip (shrinking)": (
        DSGDClip,
        {"lr": STEP_SIZES, "clip": CLIP_LEVELS, "clip_exponent": [-0.4]},
    ),
    "DSGD-GClip": (DSGDGClip, {"lr": STEP_SIZES, "clip": CLIP_LEVELS}),
    "SClip-EF": (
        SClipEF,
        {
            "lr": [1e-3, 1e-2, 0.1, 1.0, 10.0, 30.0],
            "momentum": [1e-2, 0.1, 0.5, 0.8, 0.99],
            "scale": [1.0, 5.0, 10.0, 20.0, 30.0, 50.0],
            "clip": [0.1, 1.0, 10.0, 50.0, 100.0],
        },
    ),
    "GT-NSGDm": (GTNSGDm, {"lr": STEP_SIZES, "momentum": MOMENTA}),
}
"""Method as the paper names it → class and search set; DSGD-Clip in both readings of its exponent.

The paper prints no set for DSGD-GClip here: it takes DSGD-Clip's.
"""

BY_NAME: Grid = {
    "lr": STEP_SIZES,
    "momentum": MOMENTA,
    "clip": CLIP_LEVELS,
    "scale": [1.0, 5.0, 10.0, 20.0, 30.0, 50.0],
    "cap": [1e-3, 1e-2, 0.1, 1.0, 10.0],
}


def search_set(algorithm: type[Algorithm[Any]]) -> Grid:
    """The paper's search set of a method, or one made of the sets of its hyper-parameters.

    >>> search_set(DSGD)["lr"][:3]
    [1e-05, 5e-05, 0.0001]
    """
    for known, grid in SYNTHETIC.values():
        if known is algorithm:
            return grid
    return {name: BY_NAME[name] for name in admissible_sets(algorithm) if name in BY_NAME}
