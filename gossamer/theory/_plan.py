"""Planning a run: parameters, what the theorem promises, and what would improve it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from gossamer.errors import require
from gossamer.networks import Network, exponential, ring, torus
from gossamer.noise import Noise
from gossamer.problems import Problem
from gossamer.text import aligned
from gossamer.theory._bound import Bound
from gossamer.theory.checks import require_nonnegative, require_steps
from gossamer.theory.constants import Constants
from gossamer.theory.estimate import (
    Estimate,
    admissible_p,
    estimate_gap,
    estimate_sigma,
    estimate_sigma_from_samples,
    estimate_smoothness,
)
from gossamer.theory.rates import noise_to_drift, rate, steps_for, theorem_bound
from gossamer.theory.rules import Parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gossamer.tails.samples import Array, Samples

RULES = {"p known": True, "p unknown": False}
"""How the two theorems are called in a plan: name → whether the nodes know p."""

Row = tuple[str, ...]


@dataclass(frozen=True)
class Option:
    """Another network or another number of nodes, and what the bound makes of it."""

    name: str
    lam: float
    bound: float
    steps_to_match: float
    """Steps with which this option reaches the planned bound."""


class Candidate(NamedTuple):
    """What the bound needs of a network."""

    name: str
    num_nodes: int
    lam: float

    @classmethod
    def of(cls, network: Network) -> "Candidate":
        """That of a network that has been built."""
        return cls(network.name, network.num_nodes, network.lam)

    @classmethod
    def complete(cls, n: int) -> "Candidate":
        """That of `complete(n)`, whose λ is known without its n² weights."""
        return cls(f"complete({n})", n, 0.0)


@dataclass(frozen=True)
class Plan:
    """What `plan` found; print it, or read its parts."""

    network: Network
    steps: int
    constants: Constants
    how: Mapping[str, str]
    """How each estimated constant is known."""

    @property
    def parameters(self) -> dict[str, Parameters]:
        """Rule → step size and momentum: "p known" is Theorem 1, "p unknown" Theorem 2."""
        return {
            name: self.constants.parameters(self.steps, p_known=known)
            for name, known in RULES.items()
        }

    @property
    def bounds(self) -> dict[str, Bound]:
        """Rule → the bound at its parameters, by term."""
        return {
            name: theorem_bound(self.constants, self.steps, p_known=known)
            for name, known in RULES.items()
        }

    def networks(self) -> list[Option]:
        """Other networks of as many nodes, by λ, under the rule that knows p."""
        candidates = [*_families(self.constants.num_nodes), Candidate.of(self.network)]
        different = {candidate.name: candidate for candidate in candidates}.values()
        return [self._option(one) for one in sorted(different, key=lambda one: -one.lam)]

    def more_nodes(self) -> list[Option]:
        """1, 2, 4 and 8 times the nodes on ring, exponential and complete networks.

        L, Δ0 and the gradients per node are taken to stay as they are.
        """
        sizes = [factor * self.constants.num_nodes for factor in (1, 2, 4, 8)]
        return [self._option(one) for n in sizes for one in _three_families(n)]

    def _option(self, one: Candidate) -> Option:
        growth = math.sqrt(one.num_nodes / self.constants.num_nodes)
        constants = dataclasses.replace(
            self.constants,
            num_nodes=one.num_nodes,
            lam=one.lam,
            stacked_grad_norm=growth * self.constants.stacked_grad_norm,
        )
        matched = steps_for(self.bounds["p known"].total, constants)
        return Option(one.name, one.lam, theorem_bound(constants, self.steps).total, matched)

    def tables(self) -> "dict[str, tuple[Row, list[Row]]]":
        """Title → (columns, rows): inputs, parameters, bound by term, networks, nodes."""
        return {
            "What the theorems are told": (("constant", "value", "how"), self._input_rows()),
            "Parameters of GT-NSGDm": (
                ("rule", "step size α", "momentum β", "α is set by", "rate", "bound"),
                self._parameter_rows(),
            ),
            "The bound by term": (("term", "formula", *RULES, "share"), self._term_rows()),
            "Other networks": (OPTION_COLUMNS, _option_rows(self.networks())),
            "More nodes": (OPTION_COLUMNS, _option_rows(self.more_nodes())),
        }

    def _input_rows(self) -> list[Row]:
        c = self.constants
        values = {"λ": c.lam, "L": c.smoothness, "Δ0": c.gap, "‖∇f(x⁰)‖": c.grad_norm}
        values |= {"‖∇F(1⊗x⁰)‖": c.stacked_grad_norm, "σ": c.sigma, "p": c.p}
        counts = {"n": _count(c.num_nodes), "T": _count(self.steps)}
        shown = counts | {name: f"{value:.4g}" for name, value in values.items()}
        return [(name, value, self.how.get(name, "")) for name, value in shown.items()]

    def _parameter_rows(self) -> list[Row]:
        bounds = self.bounds
        return [
            (
                name,
                f"{rule.lr:.3g}",
                f"{rule.momentum:.5g}",
                rule.binding,
                f"T^-{rate(self.constants.p, p_known=RULES[name]):.3f}",
                f"{bounds[name].total:.3g}",
            )
            for name, rule in self.parameters.items()
        ]

    def _term_rows(self) -> list[Row]:
        known, unknown = self.bounds["p known"], self.bounds["p unknown"]
        return [
            (name, formula, f"{value:.3g}", f"{unknown[name]:.3g}", f"{share:.0%}")
            for name, formula, value, share in known.table()
        ]

    def advice(self) -> list[str]:
        """What dominates, what would help, and when the bound says anything at all."""
        known, start = self.bounds["p known"], self.constants.grad_norm
        perfect = theorem_bound(dataclasses.replace(self.constants, lam=0.0), self.steps).total
        ratio = noise_to_drift(self.constants)
        lead = "the noise leads, more nodes help" if ratio > 1 else "more nodes help little"
        share = known.dominant.value / known.total
        lines = [
            f"The largest term is the {known.dominant.name}: {share:.0%} of the bound.",
            f"Perfect averaging (λ = 0) would lower the bound by {1 - perfect / known.total:.0%}.",
            f"σ / (n^(1−1/p) √(LΔ0/(1−λ))) = {ratio:.2g}: for large T {lead}.",
        ]
        if known.total > start > 0:
            enough = steps_for(start, self.constants)
            lines += [
                f"The bound exceeds ‖∇f(x⁰)‖ = {start:.3g} until T = {_count(enough)}: a worst",
                "case, to be read term against term rather than as a forecast.",
            ]
        return lines

    def __str__(self) -> str:
        parts = [f"GT-NSGDm on {self.network.name}, T = {self.steps:,}"]
        for title, (columns, rows) in self.tables().items():
            parts.append(f"{title}\n{_text_table(columns, rows)}")
        return "\n\n".join([*parts, "\n".join(self.advice())])

    def figure(self) -> "Figure":
        """The bound of both rules, stacked by term."""
        from gossamer.plots import OKABE_ITO, panels, style

        with style():
            figure, (ax,) = panels(1, width=7.5, height=3.2)
            left = [0.0, 0.0]
            names = [name for name, *_ in self.bounds["p known"].table()]
            for name, colour in zip(names, (*OKABE_ITO, "#F0E442"), strict=True):
                widths = [bound[name] for bound in self.bounds.values()]
                ax.barh(list(RULES), widths, left=left, label=name, color=colour, height=0.55)
                left = [a + b for a, b in zip(left, widths, strict=True)]
            ax.invert_yaxis()
            ax.set_xlabel("bound on the averaged gradient norm")
            ax.set_title(f"{self.network.name}, T = {self.steps:,}, p = {self.constants.p:g}")
            ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure


def plan(
    problem: Problem,
    network: Network,
    steps: int,
    *,
    noise: Noise | None = None,
    samples: "Samples | None" = None,
    p: float | None = None,
    sigma: float | None = None,
) -> Plan:
    """How to run GT-NSGDm for `steps` steps here, and what the theorems promise.

    Args:
        problem: n private objectives; L, Δ0 and the gradients at the start are taken from it.
        network: how the n nodes mix, the same in every round.
        steps: T.
        noise: the law of the gradient noise of each coordinate, or
        samples: noise vectors `(samples, dim)`, from which p and σ are estimated (p alone, in any
            dimension, where `sigma` is given), or
        p, sigma: the order of the noise's moment and its size. With `noise` or `samples`, either
            overrides what they give; without all of these the gradients are exact (σ = 0, p = 2).

    >>> import gossamer as gs
    >>> noise = gs.AlphaStable(tail_index=1.5, skewness=0.5, scale=0.1)
    >>> planned = plan(gs.RobustRegression(num_nodes=20), gs.ring(20, hops=2), 10_000, noise=noise)
    >>> planned.parameters["p known"].algorithm()
    GTNSGDm(lr=6.43...e-05, momentum=0.99659...)
    >>> planned.bounds["p unknown"].dominant.name
    'tracking noise'
    """
    require_steps(steps)
    nodes = f"{network.num_nodes} nodes where the problem has {problem.num_nodes}"
    require(network.num_nodes == problem.num_nodes, "network", nodes, "the same number")
    static = "a network that mixes alike in every round: the theorems assume it"
    require(network.period == 1, "network", network.name, static)
    require(noise is None or samples is None, "samples", "noise as well", "only one of them")
    order = _estimate_p(noise, samples, p)
    level = _estimate_sigma(problem.dim, noise, samples, order.value, sigma)
    L, gap = estimate_smoothness(problem), estimate_gap(problem)
    grads = _gradients_at_start(problem)
    constants = Constants(
        network.num_nodes, network.lam, L.value, gap.value, *grads, level.value, order.value
    )
    how = {"L": L.how, "Δ0": gap.how, "σ": level.how, "p": order.how, "λ": network.name}
    return Plan(network, steps, constants, how)


def _estimate_p(noise: Noise | None, samples: "Samples | None", p: float | None) -> Estimate:
    """The order of the moment: as given, else from the samples, else from the law."""
    if p is not None:
        return Estimate(p, "given")
    if samples is not None:
        from gossamer.tails import diagnose

        diagnosis = diagnose(samples)
        return Estimate(diagnosis.suggested_p, f"from {diagnosis.num_samples} samples")
    if noise is not None:
        return Estimate(admissible_p(noise), f"has a finite moment: {noise}")
    return Estimate(2.0, "no noise given")


def _estimate_sigma(
    dim: int, noise: Noise | None, samples: "Samples | None", p: float, sigma: float | None
) -> Estimate:
    """The noise level: as given, else from the samples, else from the law, else none."""
    if sigma is not None:
        require_nonnegative("sigma", sigma)
        return Estimate(sigma, "given")
    if samples is not None:
        return estimate_sigma_from_samples(_of_dimension(dim, samples), p)
    if noise is not None:
        return estimate_sigma(noise, dim, p)
    return Estimate(0.0, "no noise given: pass noise, samples or sigma")


def _of_dimension(dim: int, samples: "Samples") -> "Array":
    """The samples, refused unless they are noise vectors of the problem's dimension."""
    from gossamer.tails.samples import as_array

    rows = as_array(samples)
    admissible = f"shape (samples, {dim}): noise of the problem's {dim} coordinates"
    way_out = "with sigma given, other samples can still tell p"
    require(rows.shape[1:] == (dim,), "samples", f"shape {rows.shape}", admissible, way_out)
    return rows


@torch.no_grad()
def _gradients_at_start(problem: Problem) -> tuple[float, float]:
    """‖∇f(x⁰)‖ and ‖∇F(1⊗x⁰)‖."""
    local = problem.local_grad(problem.start.expand(problem.num_nodes, 1, -1))[:, 0]
    return float(local.mean(0).norm()), float(local.norm())


def _three_families(n: int) -> list[Candidate]:
    """A weak, a good and the best network of n nodes."""
    return [Candidate.of(ring(n)), Candidate.of(exponential(n)), Candidate.complete(n)]


def _families(n: int) -> list[Candidate]:
    """Well-known networks of n nodes."""
    networks: list[Network] = [exponential(n, directed=False)]
    if n >= 5:
        networks.append(ring(n, hops=2))
    rows = max(r for r in range(1, math.isqrt(n) + 1) if n % r == 0)
    if rows >= 3:
        networks.append(torus(rows, n // rows))
    return [*_three_families(n), *map(Candidate.of, networks)]


OPTION_COLUMNS = ("network", "λ", "bound", "steps to match")


def _option_rows(options: Sequence[Option]) -> list[Row]:
    return [(o.name, f"{o.lam:.4f}", f"{o.bound:.3g}", _count(o.steps_to_match)) for o in options]


def _count(value: float) -> str:
    """Whole up to a million, in powers of ten beyond."""
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def _text_table(columns: Row, rows: Sequence[Row]) -> str:
    """Columns under their names and a rule."""
    rule = ["─" * max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    return "\n".join(aligned([columns, rule, *rows]))
