"""Theorems 1 and 2: how fast the averaged gradient norm falls with the horizon T."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

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
from gossamer.networks import complete
from gossamer.noise import AlphaStable, Gaussian, Noise
from gossamer.plots import OKABE_ITO, curve, panels, style
from gossamer.problems import Quadratic
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.theory.measured import measure_rule
from gossamer.theory import Slope, fit_slope, plan, rate

NODES = 4
ORDERS = [1.2, 1.45, 1.8, 2.0]
SCALES = {"mild": 0.2, "loud": 1.0}
"""Loudness → noise scale, beside an initial gradient of norm 1."""
RULES = {"p known": True, "p unknown": False}
TOLERANCE = 0.03


def two_camps(num_nodes: int, dim: int = 1) -> Quadratic:
    """Half the nodes pull to (0, …, 0), half to (2, …, 2); from 0, L = 1 and Δ0 = dim/2."""
    return Quadratic.from_centers(torch.tensor([[0.0], [2.0]]).repeat(num_nodes // 2, dim))


def skewed_noise(p: float, scale: float) -> Noise:
    """Gaussian at p = 2, else one-sided α-stable noise with p nine tenths of the way from 1 to α.

    Skewed, because normalization is biased under skewed noise: that bias, of the size of the noise
    that averaging leaves, is what the rates are about. Symmetric noise is easier.
    """
    return Gaussian(scale) if p == 2 else AlphaStable(1 + (p - 1) / 0.9, 1.0, scale)


@dataclass(frozen=True)
class Averages(Unit):
    """Time-averaged gradient norms with the parameters of both theorems, and their bounds."""

    p: float
    noise: Noise
    num_nodes: int
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]

    def run(self, device: str) -> Result:
        """Rule → a row for every horizon, in it an average for every seed; and the bounds."""
        problem, network = two_camps(self.num_nodes), complete(self.num_nodes)
        averages, bounds = {}, {}
        for name, p in {"p known": self.p, "p unknown": None}.items():
            given = (problem, network, self.noise, self.horizons, self.seeds)
            averages[name] = measure_rule(*given, p=p).mean(0).tolist()
            plans = [plan(problem, network, T, noise=self.noise, p=self.p) for T in self.horizons]
            bounds[name] = [planned.bounds[name].total for planned in plans]
        return {"horizons": self.horizons, "averages": averages, "bounds": bounds}


@dataclass(frozen=True)
class Size:
    """Horizons T and seeds of each."""

    horizons: tuple[int, ...]
    seeds: int


class Rates(Experiment[Size]):
    """Log–log slopes of both rules for four orders p."""

    name = "rates"
    study = "theory"
    title = "Theorems 1 and 2: rates of convergence"
    about = (
        "GT-NSGDm with the step size and momentum of Theorem 1 (p known) and Theorem 2 (p unknown) "
        f"on a complete graph of {NODES} nodes that pull to 0 and to 2, under Gaussian noise (p = "
        "2) and totally skewed α-stable noise whose p-th moment is finite, once mild and once five "
        "times as loud. The slope of the time-averaged gradient norm against T, both on "
        "logarithmic axes, is compared with (p−1)/(3p−2) and (p−1)/(2p), the dashed lines."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size((64, 128, 256), seeds=2),
        "quick": Size(tuple(2**k for k in range(10, 16)), seeds=8),
        "full": Size(tuple(2**k for k in range(11, 18)), seeds=16),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per loudness and order p."""
        seeds = fresh_seeds(seed, size.seeds)
        return [
            Averages(_name(p, loudness), p, skewed_noise(p, scale), NODES, size.horizons, seeds)
            for loudness, scale in SCALES.items()
            for p in ORDERS
        ]

    def figures(self, results: Results) -> Figures:
        """Averaged gradient norm against T; dashed: the theorem's slope."""
        cases = [(loudness, rule) for loudness in SCALES for rule in RULES]
        with style():
            figure, axes = panels(len(cases), width=2.9, height=3.2)
            for ax, (loudness, rule) in zip(axes, cases, strict=True):
                for colour, p in zip(OKABE_ITO, ORDERS, strict=False):
                    result = results[_name(p, loudness)]
                    T, values = result["horizons"], result["averages"][rule]
                    curve(ax, T, values, f"p = {p:g}", colour)
                    exponent, first = rate(p, p_known=RULES[rule]), statistics.mean(values[0])
                    guide = [first * (t / T[0]) ** -exponent for t in T]
                    ax.plot(T, guide, "--", color=colour, linewidth=0.9)
                ax.set(xscale="log", yscale="log", xlabel="horizon T")
                ax.set_title(f"{loudness} noise, {rule}")
            axes[0].set_ylabel("time-averaged gradient norm")
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(ORDERS))
        return {"rates": figure}

    def tables(self, results: Results) -> list[Table]:
        """Every slope beside its theorem's, and the last average beside its bound."""
        rows = [
            [
                f"{p:g}",
                loudness,
                rule,
                f"{-rate(p, p_known=known):.3f}",
                str(_slope(results[_name(p, loudness)], rule)),
                f"{_last(results[_name(p, loudness)], rule):.3f}",
                f"{results[_name(p, loudness)]['bounds'][rule][-1]:.2f}",
            ]
            for loudness in SCALES
            for p in ORDERS
            for rule, known in RULES.items()
        ]
        columns = [
            "p",
            "noise",
            "rule",
            "theorem",
            "slope ± s.e.",
            "average at the last T",
            "bound",
        ]
        return [Table("Slopes of the time-averaged gradient norm", columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Rates of both theorems, the bound, and which rule is lower at these horizons."""
        shares = [
            statistics.mean(values) / bound
            for r in results.values()
            for rule in RULES
            for values, bound in zip(r["averages"][rule], r["bounds"][rule], strict=True)
        ]
        heavy = [_name(p, loudness) for loudness in SCALES for p in ORDERS if p < 2]
        lower = {n: _last(results[n], "p unknown") / _last(results[n], "p known") for n in heavy}
        return [
            *(_known_verdict(results, loudness) for loudness in SCALES),
            *(_unknown_verdict(results, loudness) for loudness in SCALES),
            Verdict(
                "The averaged gradient norm is below the explicit bound",
                f"largest share of the bound, over all settings: {max(shares):.3f}",
                max(shares) <= 1,
            ),
            Verdict(
                "Knowing p gives the faster method (Theorem 1 has the better exponent)",
                "average with p unknown over p known at the last T: "
                + ", ".join(f"{name}: {ratio:.2f}" for name, ratio in lower.items()),
                {name: ratio > 1 for name, ratio in lower.items()},
                "The exponents are asymptotic. At these horizons the smaller step size that comes "
                "with the longer memory mostly costs more than the lower noise gains.",
            ),
        ]


def _known_verdict(results: Results, loudness: str) -> Verdict:
    slopes = {p: _slope(results[_name(p, loudness)], "p known") for p in ORDERS}
    return Verdict(
        f"Theorem 1: with p known, T^(−(p−1)/(3p−2)); {loudness} noise",
        "; ".join(f"p = {p:g}: {s} ({-rate(p):.3f})" for p, s in slopes.items()),
        {f"p = {p:g}": abs(s.slope + rate(p)) <= TOLERANCE for p, s in slopes.items()},
        f"In brackets the theorem's slope; within {TOLERANCE}.",
    )


def _unknown_verdict(results: Results, loudness: str) -> Verdict:
    slopes = {p: _slope(results[_name(p, loudness)], "p unknown") for p in ORDERS}
    theory = {p: -rate(p, p_known=False) for p in ORDERS}
    return Verdict(
        f"Theorem 2: with p unknown, at least as fast as T^(−(p−1)/(2p)); {loudness} noise",
        "; ".join(f"p = {p:g}: {s} ({theory[p]:.3f})" for p, s in slopes.items()),
        {f"p = {p:g}": s.slope <= theory[p] + TOLERANCE for p, s in slopes.items()},
        "Steeper where the way from the start, which falls as T^(−1/4), is the larger part. "
        "Not yet falling where the noise that momentum leaves exceeds the initial gradient: short "
        "runs then stay near the start, longer ones leave it for the level of the noise.",
    )


def _name(p: float, loudness: str) -> str:
    return f"p={p}, {loudness}"


def _last(result: Result, rule: str) -> float:
    """Mean over the seeds at the longest horizon."""
    return statistics.mean(result["averages"][rule][-1])


def _slope(result: Result, rule: str) -> Slope:
    return fit_slope(result["horizons"], result["averages"][rule])
