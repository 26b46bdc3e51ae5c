"""Theorems 1 and 2: how fast the averaged gradient norm falls with the horizon T."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

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
from gossamer.networks import StaticNetwork, complete
from gossamer.noise import AlphaStable, Gaussian, Noise
from gossamer.plots import curve, panels, style
from gossamer.problems import Quadratic
from gossamer.studies.seeds import fresh_seeds
from gossamer.studies.theory.measured import measure_rule
from gossamer.theory import Constants, Slope, bound, estimate_sigma, fit_slope, rate

NODES = 4
ORDERS = [1.2, 1.45, 1.8, 2.0]
SCALES = {"mild": 0.2, "loud": 1.0, "almost none": 1e-9}
"""Loudness → noise scale; the nodes pull with a force of 1."""
NOISY = ("mild", "loud")
RULES = {"p known": True, "p unknown": False}
CLEARLY = 1.05
GAP = 0.5
"""Δ0 as the rules are told, an upper bound on that of a start at the optimum."""


def two_camps(num_nodes: int, dim: int = 1, start: float = 0.0) -> Quadratic:
    """Half the nodes pull to (0, …, 0), half to (2, …, 2); from 0, L = 1 and Δ0 = dim/2."""
    centers = torch.tensor([[0.0], [2.0]]).repeat(num_nodes // 2, dim)
    return Quadratic.from_centers(centers, start=torch.full((dim,), start))


def skewed_noise(p: float, scale: float) -> Noise:
    """Gaussian at p = 2, else one-sided α-stable noise with p nine tenths of the way from 1 to α.

    Skewed, because normalization is biased under skewed noise: that bias, of the size of the noise
    that averaging leaves, is what the rates are about. Symmetric noise is easier.
    """
    return Gaussian(scale) if p == 2 else AlphaStable(stable_index(p), 1.0, scale)


def stable_index(p: float) -> float:
    """α of the noise for which p is taken, the supremum of the admissible orders."""
    return 2.0 if p == 2 else 1 + (p - 1) / 0.9


@dataclass(frozen=True)
class AtRest(Unit):
    """Time-averaged gradient norms of both theorems' parameters, from the optimum on."""

    p: float
    noise: Noise
    num_nodes: int
    gap: float
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]

    every: int
    """Gradients are evaluated at every so many steps."""

    def run(self, device: str) -> Result:
        """Rule → a row for every horizon, in it an average for every seed; and the bounds."""
        problem, network = two_camps(self.num_nodes, start=1.0), complete(self.num_nodes)
        given = (problem, network, self.noise, self.horizons, self.seeds)
        averages = {
            name: measure_rule(*given, p=p, gap=self.gap, every=self.every).mean(0).tolist()
            for name, p in {"p known": self.p, "p unknown": None}.items()
        }
        bounds = {name: self._bounds(problem, network, name == "p known") for name in averages}
        return {"horizons": self.horizons, "averages": averages, "bounds": bounds}

    def _bounds(self, problem: Quadratic, network: StaticNetwork, p_known: bool) -> list[float]:
        at_start = problem.local_grad(problem.start.expand(self.num_nodes, 1, -1))
        constants = Constants(
            num_nodes=self.num_nodes,
            lam=network.lam,
            smoothness=problem.smoothness,
            gap=self.gap,
            grad_norm=float(at_start.mean(0).norm()),
            stacked_grad_norm=float(at_start.norm()),
            sigma=estimate_sigma(self.noise, problem.dim, self.p).value,
            p=self.p,
        )
        rules = [constants.parameters(T, p_known=p_known) for T in self.horizons]
        pairs = zip(self.horizons, rules, strict=True)
        return [bound(constants, T, rule.lr, rule.momentum).total for T, rule in pairs]


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
        "times as loud. Runs start at the optimum, x⁰ = 1, and the rules are told an upper bound "
        f"on the gap, Δ0 = {GAP}: with no way to go, all that is measured is due to the noise. "
        "(From a distance the way from the start would lead: see topology-independence.) The slope "
        "of the time-averaged gradient norm against T, both on logarithmic axes, is compared with "
        "(p−1)/(3p−2) and (p−1)/(2p), the dashed lines. As a control the same is measured with a "
        "noise of 1e-9, where these rates must not be seen."
    )

    sizes: ClassVar[Mapping[SizeName, Size]] = {
        "test": Size((128, 192, 256), seeds=2),
        "quick": Size(tuple(2**k for k in range(8, 13)), seeds=16),
        "full": Size(tuple(2**k for k in range(10, 17)), seeds=32),
    }

    def units(self, size: Size, seed: int) -> list[Unit]:
        """A unit per loudness and order p; without noise every step counts, and seeds do not."""
        return [
            AtRest(
                _name(p, loudness),
                p,
                skewed_noise(p, scale),
                NODES,
                GAP,
                size.horizons,
                fresh_seeds(seed, size.seeds if loudness in NOISY else 2),
                every=16 if loudness in NOISY else 1,
            )
            for loudness, scale in SCALES.items()
            for p in ORDERS
        ]

    def finding(self, results: Results) -> str:
        """In how many settings the rates are seen, and how far below the bound."""
        judged = [_rate(results, rule, loudness).condition for rule in RULES for loudness in NOISY]
        seen = [holds for parts in judged if isinstance(parts, dict) for holds in parts.values()]
        return (
            f"The rates of Theorems 1 and 2 show in {sum(seen)} of {len(seen)} settings, and what "
            f"is measured is at most {max(_shares(results)):.1%} of the explicit bound."
        )

    def figures(self, results: Results) -> Figures:
        """Averaged gradient norm against T; dashed: the theorem's slope."""
        cases = [(loudness, rule) for loudness in NOISY for rule in RULES]
        with style():
            figure, axes = panels(len(cases), width=2.9, height=3.2)
            for ax, (loudness, rule) in zip(axes, cases, strict=True):
                for colour, p in zip(OKABE_ITO, ORDERS, strict=False):
                    result = results[_name(p, loudness)]
                    T, values = result["horizons"], result["averages"][rule]
                    curve(ax, T, values, f"p = {p:g}", colour)
                    exponent, first = rate(p, p_known=RULES[rule]), statistics.mean(values[0])
                    guide = [first * (t / T[0]) ** -exponent for t in T]
                    ax.plot(T, guide, "--", color=colour, linewidth=0.9, label=f"_p = {p:g}")
                ax.set(xscale="log", yscale="log", xlabel="horizon T")
                ax.set_title(f"{loudness} noise, {rule}")
            axes[0].set_ylabel("time-averaged gradient norm")
            figure.supxlabel("dashed: the slope of the theorem")
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(ORDERS))
        return {"rates": figure}

    def tables(self, results: Results) -> list[Table]:
        """Every slope beside its theorem's, and the last average beside its bound."""
        columns = [
            "p",
            "noise",
            "rule",
            "theorem",
            "slope ± s.e.",
            "average at the last T",
            "bound",
        ]
        rows = [
            [
                f"{p:g}",
                loudness,
                rule,
                f"{-rate(p, p_known=known):.3f}",
                str(_slope(results[_name(p, loudness)], rule)),
                f"{_last(results[_name(p, loudness)], rule):.3g}",
                f"{results[_name(p, loudness)]['bounds'][rule][-1]:.2f}",
            ]
            for loudness in SCALES
            for p in ORDERS
            for rule, known in RULES.items()
        ]
        return [Table("Slopes of the time-averaged gradient norm", columns, rows)]

    def verdicts(self, results: Results) -> list[Verdict]:
        """Rates of both theorems, the bound, and which rule is lower at these horizons."""
        rates = [_rate(results, rule, loudness) for rule in RULES for loudness in NOISY]
        return [*rates, _below_bound(results), _knowing_p(results)]


def falls_by_noise(slope: Slope, control: Slope, p: float, *, p_known: bool) -> bool:
    """Whether noise sets the slope, and lets it fall at least as fast as the theorem says.

    At least as fast: up to three standard errors above −rate(p). By noise: more than three standard
    errors away from the slope without noise.
    """
    allowed = 3 * slope.error
    fast = slope.slope <= -rate(p, p_known=p_known) + allowed
    return fast and abs(slope.slope - control.slope) > allowed


def _rate(results: Results, rule: str, loudness: str) -> Verdict:
    known = RULES[rule]
    slopes = {p: _slope(results[_name(p, loudness)], rule) for p in ORDERS}
    control = {p: _slope(results[_name(p, "almost none")], rule) for p in ORDERS}
    theorem = (
        "Theorem 1: with p known, the averaged gradient norm falls as T^(−(p−1)/(3p−2))"
        if known
        else "Theorem 2: with p unknown, the averaged gradient norm falls as T^(−(p−1)/(2p))"
    )
    return Verdict(
        f"{theorem}, under {loudness} noise",
        "slope (the theorem's): "
        + "; ".join(f"p = {p:g}: {s} ({-rate(p, p_known=known):.3f})" for p, s in slopes.items()),
        {f"p = {p:g}": falls_by_noise(s, control[p], p, p_known=known) for p, s in slopes.items()},
        "It holds for a p if the slope is at most three standard errors above the theorem's, and "
        "more than three standard errors away from the slope without noise (for these p: "
        + ", ".join(f"{slope.slope:.2f}" for slope in control.values())
        + "). The theorem is an upper bound, so the norm may fall faster.",
    )


def _shares(results: Results) -> list[float]:
    """Of the explicit bound, in every setting and at every horizon."""
    return [
        statistics.mean(values) / bound
        for r in results.values()
        for rule in RULES
        for values, bound in zip(r["averages"][rule], r["bounds"][rule], strict=True)
    ]


def _below_bound(results: Results) -> Verdict:
    shares = _shares(results)
    return Verdict(
        "The averaged gradient norm is below the explicit bound",
        f"largest share of the bound, over all settings: {max(shares):.3f}",
        max(shares) <= 1,
    )


def _knowing_p(results: Results) -> Verdict:
    heavy = [_name(p, loudness) for loudness in NOISY for p in ORDERS if p < 2]
    lower = {n: _last(results[n], "p unknown") / _last(results[n], "p known") for n in heavy}
    return Verdict(
        "Knowing p gives the faster method (Theorem 1 has the better exponent)",
        "the averaged gradient norm with p unknown divided by that with p known, at the largest T: "
        + ", ".join(f"{name}: {ratio:.2f}" for name, ratio in lower.items()),
        {f"{name} noise": ratio > CLEARLY for name, ratio in lower.items()},
        f"It holds if this ratio is above {CLEARLY}. The runs start at the optimum, so that only "
        "the noise is measured.",
    )


def _name(p: float, loudness: str) -> str:
    return f"p={p}, {loudness}"


def _last(result: Result, rule: str) -> float:
    """Mean over the seeds at the longest horizon."""
    return statistics.mean(result["averages"][rule][-1])


def _slope(result: Result, rule: str) -> Slope:
    return fit_slope(result["horizons"], result["averages"][rule])
