"""Which methods run on which networks, under which noises."""

from gossamer.algorithms import (
    EXTRA,
    DIGing,
    DSGDCClip,
    ExactDiffusion,
    GTAdam,
    GTClip,
    GTSignSGDm,
    MomentumTracking,
    MoTEF,
    NormalizedDSGD,
    QGDSGDm,
    SClipEF,
)
from gossamer.networks import QSGD, Network, Sign, TopK, random_digraph, ring
from gossamer.noise import Noise
from gossamer.simulation.search_sets import SearchSet, search_set
from gossamer.studies.searched import Entry, Method
from gossamer.studies.synthetic.grids import SYNTHETIC
from gossamer.studies.synthetic.task import NODES
from gossamer.studies.synthetic.task import NOISES as ALL_NOISES

DIM = 20
RING = ring(NODES, hops=2)
ONE_WAY = random_digraph(NODES, degree=2)
"""Nodes hear one to four others; the shares of a total that they would settle at differ by 25."""

NETWORKS: dict[str, Network] = {
    "clean": RING,
    "one-way": ONE_WAY,
    "loss both ways": RING.drops(0.3, both_ways=True),
    "loss one way": RING.drops(0.3),
    "loss in bursts": RING.drops(0.3, burst=10),
    "top tenth": RING.compressed(TopK(0.1)),
    "four bits": RING.compressed(QSGD(4)),
    "signs": RING.compressed(Sign()),
    "every 5th": RING.every(5),
    "lossy, short, rare": RING.drops(0.1).compressed(QSGD(4)).every(5),
    "all at once": ONE_WAY.drops(0.1).compressed(TopK(0.2)).every(2),
}

NOISES: dict[str, Noise] = {name: ALL_NOISES[name] for name in ("Gaussian", "Student-t")}
HEAVY = "Student-t"


def _searched(*algorithms: Method) -> dict[str, Entry]:
    return {algorithm.label: (algorithm, search_set(algorithm)) for algorithm in algorithms}


def _of_the_paper(*names: str) -> dict[str, Entry]:
    return {name: SYNTHETIC[name] for name in names}


def _clipped(*places: str) -> dict[str, Entry]:
    grid = search_set(GTClip)
    return {f"GT-Clip ({place})": (GTClip, {**grid, "clipped": [place]}) for place in places}


SMOOTHLY_CLIPPED: SearchSet = {
    "lr": [0.01, 0.1, 1.0, 10.0],
    "momentum": [0.1, 0.5, 0.8, 0.99],
    "scale": [5.0, 10.0, 20.0, 50.0],
    "clip": [1.0, 10.0, 100.0],
}
"""The middle of SClip-EF's own search set, which has 900 settings; extensions reach its rest."""

METHODS: dict[str, Entry] = {
    **_of_the_paper("DSGD"),
    **_searched(QGDSGDm, NormalizedDSGD),
    **_of_the_paper("DSGD-GClip"),
    **_searched(DSGDCClip),
    **_of_the_paper("DSGD-Clip"),
    "SClip-EF": (SClipEF, SMOOTHLY_CLIPPED),
    **_searched(EXTRA, ExactDiffusion),
    **_of_the_paper("GT-DSGD"),
    **_searched(DIGing, MomentumTracking, MoTEF, GTAdam),
    **_clipped("gradient", "tracker"),
    **_searched(GTSignSGDm),
    **_of_the_paper("GT-NSGDm"),
}
"""Those without a tracker, those with a correction, those with a tracker."""

PARTS: dict[str, tuple[str, ...]] = {
    "different": tuple(NETWORKS),
    "alike": ("clean", "one-way", "loss one way", "top tenth", "every 5th", "all at once"),
    "equal bytes": ("clean", "top tenth", "four bits", "signs", "every 5th", "lossy, short, rare"),
}
"""Part of the study → its networks. The last is on nodes that differ, too."""

KINDS = ("different", "alike")
"""The parts at equal steps."""


def unit_name(part: str, network: str, noise: str, method: str) -> str:
    """Of a method in one situation."""
    return f"{part}, {network}, {noise}, {method}"
