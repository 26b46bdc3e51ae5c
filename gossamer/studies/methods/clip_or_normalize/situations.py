"""Where clipping and normalizing are compared, and between which methods."""

from itertools import product
from math import sqrt
from typing import NamedTuple

from gossamer.algorithms import DSGDCClip, DSGDGClip, GTClip, GTNSGDm
from gossamer.networks import Network, complete, ring
from gossamer.noise import AlphaStable, Gaussian, Noise
from gossamer.simulation.search_sets import SearchSet
from gossamer.studies.searched import Entry

NODES = DIMENSION = 20
SCALE = 0.3

NETWORKS: dict[str, Network] = {
    "ring": ring(NODES),
    "2-hop ring": ring(NODES, hops=2),
    "complete": complete(NODES),
}

SPREADS = (0.0, 1.0, 10.0)
TAILS = (1.2, 1.5, 1.8, 2.0)
SKEWNESS = {"symmetric": 0.0, "skewed": 0.5}


class Situation(NamedTuple):
    """How far the nodes' optima are apart, the noise, and the network."""

    spread: float
    tail: float
    shape: str
    network: str

    @property
    def nodes(self) -> str:
        """The nodes, in words."""
        return f"{self.spread:g} apart" if self.spread else "alike"

    @property
    def name(self) -> str:
        """In words that can be the name of a file."""
        shape = "Gaussian" if self.tail == 2 else f"{self.shape} {self.tail:g}"
        return f"{self.nodes}, {shape}, {self.network}"

    @property
    def noise(self) -> Noise:
        """α-stable noise; at α = 2, where it has no skewness, that is Gaussian noise."""
        if self.tail == 2:
            return Gaussian(sqrt(2) * SCALE)
        return AlphaStable(self.tail, SKEWNESS[self.shape], SCALE)


TAIL_SITUATIONS = [
    Situation(apart, tail, shape, "2-hop ring")
    for shape, apart, tail in product(SKEWNESS, SPREADS, TAILS)
    if tail < 2 or shape == "symmetric"
]
NETWORK_SITUATIONS = [
    Situation(apart, 1.5, shape, network)
    for shape, apart, network in product(SKEWNESS, SPREADS, ("ring", "complete"))
]
SITUATIONS = TAIL_SITUATIONS + NETWORK_SITUATIONS

STEP_SIZES = [a * b for b in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0) for a in (1, 2, 5)][:-2]
CLIP_LEVELS = [a * b for b in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0) for a in (1, 2, 5)]
MOMENTA = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999]

GRADIENT, TRACKER, PLAIN = "GT-Clip (gradient)", "GT-Clip (tracker)", "DSGD-GClip"
"""What clips: gradients or the tracker, with gradient tracking, and gradients without."""

CLIPPING: SearchSet = {"lr": STEP_SIZES, "clip": CLIP_LEVELS}
METHODS: dict[str, Entry] = {
    "GT-NSGDm": (GTNSGDm, {"lr": STEP_SIZES, "momentum": MOMENTA}),
    GRADIENT: (GTClip, {**CLIPPING, "clipped": ["gradient"]}),
    TRACKER: (GTClip, {**CLIPPING, "clipped": ["tracker"]}),
    PLAIN: (DSGDGClip, CLIPPING),
    "DSGD-CClip": (DSGDCClip, CLIPPING),
}


def unit_name(situation: Situation, method: str) -> str:
    """Of a method in one situation."""
    return f"{situation.name}, {method}"
