"""Remark on Theorem 2: for large T the rate does not depend on the network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

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
from gossamer.plots import OKABE_ITO, curve, panels, style
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.theory.measured import measure_rule
from gossamer.studies.theory.rates import Size, skewed_noise, two_camps
from gossamer.theory import Slope, fit_slope, parameters

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
SPREAD = 1.5
"""Levels that differ by less than this factor count as the same."""


def arrived(network: Network, horizon: int) -> bool:
    """Whether α lets the run cover the distance to the optimum, 1, in the first half of the run."""
    n, lam = network.num_nodes, network.lam
    rule = parameters(horizon, num_nodes=n, lam=lam, smoothness=1.0, gap=0.5)
    return rule.lr * horizon / 2 >= 1


@dataclass(frozen=True)
class OnNetwork(Unit):
    """Averaged gradient norms with the parameters of Theorem 2 on one network."""

    network: Network
    noise: Noise
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """For every horizon the averages of every seed, over the run and over its second half."""
        problem = two_camps(self.network.num_nodes)
        halves = measure_rule(problem, self.network, self.noise, self.horizons, self.seeds)
        return {
            "lam": self.network.lam,
            "horizons": self.horizons,
            "averages": halves.mean(0).tolist(),
            "second_half": halves[1].tolist(),
            "arrived": [arrived(self.network, T) for T in self.horizons],
        }


class TopologyIndependence(Experiment[Size]):
    """Gradient norms on five networks of the same size, at growing horizons."""

    name = "topology-independence"
    study = "theory"
    title = "Theorem 2: the network matters less and less as T grows"
    about = (
        f"GT-NSGDm with the parameters of Theorem 2 on five networks of {NODES} nodes that pull to "
        "0 and to 2, under loud, totally skewed 1.5-stable noise. The way from the start takes "
        "longer on weak networks, as their step size is smaller; once a run has arrived, the "
        "second half of it shows the level that noise sustains, σ n^(−(1−1/p)) T^(−(p−1)/2p), "
        "which the remark says is independent of λ."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size((256, 1024), seeds=2),
        "quick": Size((2**9, 2**11, 2**13, 2**15), seeds=8),
        "full": Size((2**11, 2**13, 2**15, 2**17), seeds=8),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per network."""
        noise, seeds = skewed_noise(ORDER, SCALE), fresh_seeds(seed, size.seeds)
        return [
            OnNetwork(name, network, noise, size.horizons, seeds)
            for name, network in NETWORKS.items()
        ]

    def figures(self, results: Results) -> Figures:
        """Whole and second-half averages against T, a line per network."""
        titles = {"averages": "whole run", "second_half": "second half"}
        with style():
            figure, axes = panels(2, width=4.0, height=3.4)
            for ax, (key, title) in zip(axes, titles.items(), strict=True):
                for colour, (name, result) in zip(OKABE_ITO, results.items(), strict=False):
                    label = f"{name}, λ = {result['lam']:.3f}"
                    curve(ax, result["horizons"], result[key], label, colour)
                ax.set(xscale="log", yscale="log", title=title, xlabel="horizon T")
            axes[0].set_ylabel("averaged gradient norm")
            axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return {"topology-independence": figure}

    def tables(self, results: Results) -> list[Table]:
        """Second-half averages, those still on their way in brackets."""
        rows = [
            [
                name,
                f"{result['lam']:.3f}",
                *(
                    f"{level:.3f}" if there else f"({level:.3f})"
                    for level, there in zip(_levels(result), result["arrived"], strict=True)
                ),
            ]
            for name, result in results.items()
        ]
        T = next(iter(results.values()))["horizons"]
        columns = ["network", "λ", *(f"T = {t:,}" for t in T)]
        title = "Gradient norm in the second half; in brackets where α is too small to have arrived"
        return [Table(title, columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Equal levels after arrival, and the cost of the network before it."""
        there = {n: _levels(r)[-1] for n, r in results.items() if r["arrived"][-1]}
        away = [name for name in results if name not in there]
        spread = max(there.values()) / min(there.values())
        slopes = _slopes_in_gap(results)
        T = next(iter(results.values()))["horizons"]
        return [
            Verdict(
                "For large T and p < 2 the bound is independent of λ (remark on Theorem 2)",
                f"at T = {T[-1]:,}: "
                + "; ".join(f"{name} {level:.3f}" for name, level in there.items())
                + f"; largest over smallest {spread:.2f}",
                len(there) >= 2 and spread <= SPREAD,
                "T is not yet large enough for: " + "; ".join(away) + "." if away else "",
            ),
            Verdict(
                "Before that the cost of a weak network is at most √(1/(1−λ)): slope ≤ ½",
                "slope of the whole average against 1/(1−λ): "
                + ", ".join(
                    f"T = {t:,}: {s.slope:.2f} ± {s.error:.2f}"
                    for t, s in zip(T, slopes, strict=True)
                ),
                all(s.slope <= 0.5 for s in slopes),
                "The way from the start has the step size √(1−λ), whatever the noise.",
            ),
        ]


def _levels(result: Result) -> list[float]:
    return [sum(row) / len(row) for row in result["second_half"]]


def _slopes_in_gap(results: Results) -> list[Slope]:
    """Slope of the whole average against 1/(1−λ) over the networks, for every horizon."""
    gaps = [1 / (1 - result["lam"]) for result in results.values()]
    tables = zip(*(result["averages"] for result in results.values()), strict=True)
    return [fit_slope(gaps, list(table)) for table in tables]
