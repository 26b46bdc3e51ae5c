"""Remark on Theorem 2: for large T the rate does not depend on the network."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from gossamer.colours import OKABE_ITO
from gossamer.experiments import (
    Experiment,
    Figures,
    Result,
    Results,
    SizeName,
    Table,
    Unit,
    Verdict,
)
from gossamer.networks import Network, complete, exponential, ring
from gossamer.noise import Noise
from gossamer.plots import curve, panels, style
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.theory.measured import measure_rule
from gossamer.studies.theory.rates import GAP, Size, skewed_noise, two_camps
from gossamer.theory import Slope, fit_slope

NODES = 20
ORDER = 1.45
SCALE = 2.0
NETWORKS: dict[str, Network] = {
    "ring": ring(NODES),
    "ring, 2 hops": ring(NODES, hops=2),
    "directed exponential": exponential(NODES),
    "undirected exponential": exponential(NODES, directed=False),
    "complete": complete(NODES),
}
STARTS = {"at rest": 1.0, "from afar": 0.0}
"""Where runs start, at the optimum or at a distance of 1."""
SPREAD = 1.5
"""Averages that differ by less than this factor count as equal."""


@dataclass(frozen=True)
class OnNetwork(Unit):
    """Averaged gradient norms with the parameters of Theorem 2 on one network."""

    network: Network
    noise: Noise
    start: float
    gap: float
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """For every horizon the average of every seed over the whole run."""
        problem = two_camps(self.network.num_nodes, start=self.start)
        given = (problem, self.network, self.noise, self.horizons, self.seeds)
        halves = measure_rule(*given, gap=self.gap)
        averages = halves.mean(0).tolist()
        return {"lam": self.network.lam, "horizons": self.horizons, "averages": averages}


class TopologyIndependence(Experiment[Size]):
    """Gradient norms on five networks of the same size, at growing horizons."""

    name = "topology-independence"
    study = "theory"
    title = "Theorem 2: does the network matter less and less as T grows?"
    about = (
        f"GT-NSGDm with the parameters of Theorem 2 on five networks of {NODES} nodes that pull to "
        "0 and to 2, under loud, totally skewed 1.5-stable noise. The theorem bounds the average "
        "over the whole run, which is shown twice: for runs that start at the optimum, where it "
        "comes from the noise alone, and for runs that start at a distance of 1, where it includes "
        "the steps on the way to the optimum. The rules are told the same gap, Δ0 = 0.5, in both "
        "cases. "
        "The remark says that the noise's part, σ n^(−(1−1/p)) T^(−(p−1)/2p), is independent of λ "
        "and in the end the largest."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size((32, 64), seeds=2),
        "quick": Size((2**9, 2**11, 2**13), seeds=8),
        "full": Size((2**9, 2**11, 2**13, 2**15, 2**17), seeds=16),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per start and network."""
        noise, seeds = skewed_noise(ORDER, SCALE), fresh_seeds(seed, size.seeds)
        return [
            OnNetwork(_name(network, start), w, noise, x, GAP, size.horizons, seeds)
            for start, x in STARTS.items()
            for network, w in NETWORKS.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Averages against T, a panel per start and a line per network."""
        with style():
            figure, axes = panels(len(STARTS), width=4.0, height=3.4)
            for ax, start in zip(axes, STARTS, strict=True):
                for colour, network in zip(OKABE_ITO, NETWORKS, strict=False):
                    result = results[_name(network, start)]
                    label = f"{network}, λ = {result['lam']:.3f}"
                    curve(ax, result["horizons"], result["averages"], label, colour)
                ax.set(xscale="log", yscale="log", title=start, xlabel="horizon T")
            axes[0].set_ylabel("time-averaged gradient norm")
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=3)
        return {"topology-independence": figure}

    def tables(self, results: Results) -> list[Table]:
        """Averages relative to those on the complete network."""
        T = results[_name("complete", "at rest")]["horizons"]
        rows = [
            [start, network, *(f"{ratio:.2f}" for ratio in _relative(results, network, start))]
            for start in STARTS
            for network in NETWORKS
        ]
        title = "Averaged gradient norm, relative to that on the complete network"
        return [Table(title, ["start", "network", *(f"T = {t:,}" for t in T)], rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Whether the networks draw level, and what a weak one costs until then."""
        return [_draw_level(results), _cost(results)]


def _draw_level(results: Results) -> Verdict:
    spreads = {start: _spreads(results, start) for start in STARTS}
    level = {
        f"runs that start {start}": all(b < a for a, b in pairwise(of)) and of[-1] <= SPREAD
        for start, of in spreads.items()
    }
    return Verdict(
        "For large T and p < 2 the bound is independent of λ (remark on Theorem 2)",
        "largest average over the networks divided by the smallest, for growing T: "
        + "; ".join(f"{s} {', '.join(f'{x:.2f}' for x in of)}" for s, of in spreads.items()),
        level,
        f"It holds if the ratio falls with every T and ends at {SPREAD} or below. Runs “at rest” "
        "start at the optimum, and runs “from afar” start at a distance of 1.",
    )


def _cost(results: Results) -> Verdict:
    T = results[_name("complete", "from afar")]["horizons"]
    slopes = _slopes_in_gap(results)
    return Verdict(
        "For smaller T a slowly mixing network costs at most a factor of √(1/(1−λ)): slope ≤ ½",
        "slope of the average against 1/(1−λ), in runs that start from afar: "
        + ", ".join(
            f"T = {t:,}: {s.slope:.2f} ± {s.error:.2f}" for t, s in zip(T, slopes, strict=True)
        ),
        all(s.slope <= 0.5 for s in slopes),
        "The theorem prescribes smaller steps on networks that mix slowly. So the runs take longer "
        "to reach the optimum.",
    )


def _name(network: str, start: str) -> str:
    return f"{start}, {network}"


def _means(results: Results, network: str, start: str) -> list[float]:
    return [sum(row) / len(row) for row in results[_name(network, start)]["averages"]]


def _relative(results: Results, network: str, start: str) -> list[float]:
    pairs = zip(_means(results, network, start), _means(results, "complete", start), strict=True)
    return [average / complete for average, complete in pairs]


def _spreads(results: Results, start: str) -> list[float]:
    """Largest over smallest average of all networks, for every horizon."""
    rows = zip(*(_means(results, network, start) for network in NETWORKS), strict=True)
    return [max(row) / min(row) for row in rows]


def _slopes_in_gap(results: Results) -> list[Slope]:
    """Slope of the average from afar against 1/(1−λ) over the networks, for every horizon."""
    found = [results[_name(network, "from afar")] for network in NETWORKS]
    gaps = [1 / (1 - result["lam"]) for result in found]
    tables = zip(*(result["averages"] for result in found), strict=True)
    return [fit_slope(gaps, list(table)) for table in tables]
