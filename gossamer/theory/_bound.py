"""The explicit bound on the averaged gradient norm, term by term."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from gossamer.errors import choice
from gossamer.interval import POSITIVE, Interval, within
from gossamer.theory.constants import Constants


@dataclass(frozen=True)
class Term:
    """One summand of the bound."""

    name: str
    formula: str
    value: float


@dataclass(frozen=True)
class Bound:
    """An upper bound on (1/nT) Σ_t Σ_i E‖∇f(x_iᵗ)‖ as the sum of its terms."""

    terms: Sequence[Term]

    @property
    def total(self) -> float:
        """The bound itself, i.e. the sum of its terms."""
        return sum(term.value for term in self.terms)

    @property
    def dominant(self) -> Term:
        """The largest term, which is the one to improve first."""
        return self._ordered()[0]

    def __getitem__(self, name: str) -> float:
        """The value of the term called `name`."""
        values = {term.name: term.value for term in self.terms}
        return values[choice("name", name, values)]

    def table(self) -> list[tuple[str, str, float, float]]:
        """Rows of name, formula, value and share of the total, largest first."""
        return [(t.name, t.formula, t.value, t.value / self.total) for t in self._ordered()]

    def _ordered(self) -> list[Term]:
        """The terms, largest first.

        At the best step size two terms are equal. Their order must not depend on rounding errors,
        which differ between machines, so terms that agree to nine digits stay as they are.
        """
        return sorted(self.terms, key=cmp_to_key(_falling))


def _falling(first: Term, second: Term) -> int:
    """−1 if the first term is larger, 1 if it is smaller, 0 if both are equal up to rounding."""
    equal = math.isclose(first.value, second.value, rel_tol=1e-9)
    return 0 if equal else 1 - 2 * (first.value > second.value)


def bound(constants: Constants, steps: float, lr: float, momentum: float) -> Bound:
    """The bound in the theorems' proof, with explicit constants, for any step size and momentum.

    For α = `lr`, β = `momentum` and T = `steps` it is the sum of nine terms:

    - initial gap: Δ0/(αT), since f has to fall by Δ0;
    - initial gradient: 2‖∇f(x⁰)‖/((1−β)T), since the momentum starts from 0;
    - averaged noise: 4√2 σ ((1−β)/n)^(1−1/p), what averaging leaves of the noise;
    - momentum lag: 4Lα/((1−λ)(1−β)), since the momentum remembers gradients at old points;
    - consensus: (3/(1−λ) + ½) Lα, since the nodes are at different points;
    - tracking noise: 2√2 σ √n (1/β−1)/(1−λ)^(1/p), the gradients' noise in the trackers;
    - heterogeneity: ‖∇F(1⊗x⁰)‖ (1/β−1)/((1−λ)√n), since the nodes' first gradients differ;
    - estimator noise: 2√2 σ √n (1/β−1)(1−β)^(1−1/p)/(1−λ), the momenta's noise in the trackers;
    - tracker lag: 2L √n α/(1−λ)², the momenta's lag in the trackers.

    It holds for every 0 < β < 1; only the simpler forms that the proof derives from it need
    β ≥ 1/10. On the complete network the last four terms could be 0. They are not, because the
    proof replaces factors λ by 1. The bound is on ‖∇f‖, not on its square.

    >>> from gossamer.theory import Constants
    >>> constants = Constants(
    ...     num_nodes=4, lam=0.0, smoothness=1.0, gap=1.0, grad_norm=1.0, stacked_grad_norm=2.0,
    ...     sigma=3.0, p=1.45,
    ... )
    >>> rule = constants.parameters(10_000)
    >>> split = bound(constants, 10_000, rule.lr, rule.momentum)
    >>> round(split.total, 2), split.dominant.name, round(split["averaged noise"], 2)
    (2.71, 'averaged noise', 1.89)

    Reference: the first display of the paper's final proof (before its step (i)).
    """
    within("momentum", momentum, Interval(0, 1), "the bound has 1/β")
    return bound_at(constants, steps, lr, 1 - momentum)


def bound_at(constants: Constants, steps: float, lr: float, forgetting: float) -> Bound:
    """`bound`, given 1 − β = `forgetting`, which keeps its digits on astronomical horizons."""
    within("steps", steps, POSITIVE)
    within("lr", lr, POSITIVE)
    values = _start_terms(constants, steps, lr, forgetting)
    values |= _noise_terms(constants, forgetting) | _lag_terms(constants, lr, forgetting)
    return Bound([Term(name, FORMULAS[name], values[name]) for name in FORMULAS])


FORMULAS = {
    "initial gap": "Δ0/(αT)",
    "initial gradient": "2‖∇f(x⁰)‖/((1−β)T)",
    "averaged noise": "4√2 σ ((1−β)/n)^(1−1/p)",
    "momentum lag": "4Lα/((1−λ)(1−β))",
    "consensus": "(3/(1−λ) + ½) Lα",
    "tracking noise": "2√2 σ √n (1/β−1)/(1−λ)^(1/p)",
    "heterogeneity": "‖∇F(1⊗x⁰)‖ (1/β−1)/((1−λ)√n)",
    "estimator noise": "2√2 σ √n (1/β−1)(1−β)^(1−1/p)/(1−λ)",
    "tracker lag": "2L √n α/(1−λ)²",
}
"""Name → formula of every term, in the order of the proof."""


def _start_terms(c: Constants, steps: float, lr: float, forgetting: float) -> dict[str, float]:
    renewal = forgetting / (1 - forgetting)  # 1/β − 1
    return {
        "initial gap": c.gap / (lr * steps),
        "initial gradient": 2 * c.grad_norm / (forgetting * steps),
        "heterogeneity": c.stacked_grad_norm * renewal / ((1 - c.lam) * math.sqrt(c.num_nodes)),
    }


def _noise_terms(c: Constants, forgetting: float) -> dict[str, float]:
    exponent = 1 - 1 / c.p
    renewal = forgetting / (1 - forgetting)  # 1/β − 1
    tracked = 2 * math.sqrt(2 * c.num_nodes) * c.sigma * renewal
    return {
        "averaged noise": 4 * math.sqrt(2) * c.sigma * (forgetting / c.num_nodes) ** exponent,
        "tracking noise": tracked / (1 - c.lam) ** (1 / c.p),
        "estimator noise": tracked * forgetting**exponent / (1 - c.lam),
    }


def _lag_terms(c: Constants, lr: float, forgetting: float) -> dict[str, float]:
    step = c.smoothness * lr
    return {
        "momentum lag": 4 * step / ((1 - c.lam) * forgetting),
        "consensus": (3 / (1 - c.lam) + 0.5) * step,
        "tracker lag": 2 * step * math.sqrt(c.num_nodes) / (1 - c.lam) ** 2,
    }
