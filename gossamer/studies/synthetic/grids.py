"""The methods of the synthetic study and what is searched for each: the paper's search sets."""

from gossamer.algorithms import (
    DSGD,
    GTDSGD,
    DSGDClip,
    DSGDGClip,
    GTNSGDm,
    SClipEF,
)
from gossamer.simulation import search_set
from gossamer.studies.searched import Entry

SYNTHETIC: dict[str, Entry] = {
    "DSGD": (DSGD, search_set(DSGD)),
    "GT-DSGD": (GTDSGD, search_set(GTDSGD)),
    "DSGD-Clip": (DSGDClip, {**search_set(DSGDClip), "clip_exponent": [0.4]}),
    "DSGD-Clip (shrinking)": (DSGDClip, {**search_set(DSGDClip), "clip_exponent": [-0.4]}),
    "DSGD-GClip": (DSGDGClip, search_set(DSGDGClip)),
    "SClip-EF": (SClipEF, search_set(SClipEF)),
    "GT-NSGDm": (GTNSGDm, search_set(GTNSGDm)),
}
"""Method as the paper names it → class and search set; DSGD-Clip in both readings of its exponent.

The paper prints no set for DSGD-GClip here: it takes DSGD-Clip's.
"""
