"""A plan in words and tables."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gossamer.text import aligned, below_one, wrapped
from gossamer.theory.options import Option
from gossamer.theory.practical import MOMENTUM, REACH
from gossamer.theory.rates import noise_to_drift, rate, steps_for, theorem_bound

if TYPE_CHECKING:
    from gossamer.theory.planned import Plan

Row = tuple[str, ...]

PARAMETER_COLUMNS = ("rule", "step α", "momentum β", "reach αT", "α is set by", "rate", "bound")
TERM_COLUMNS = ("term", "formula", "p known", "p unknown", "share")
OPTION_COLUMNS = ("network", "λ", "bound", "steps to match")


def as_text(plan: "Plan") -> str:
    """All of the plan: what was assumed, the tables, the advice."""
    noise = "\n".join(wrapped(f"Noise: {plan.noise}"))
    parts = [f"GT-NSGDm on {plan.network.name}, T = {plan.steps:,}\n{noise}"]
    for title, (columns, rows) in tables(plan).items():
        parts.append(f"{title}\n{_text_table(columns, rows)}")
    lines = [line for words in advice(plan) for line in wrapped(words)]
    return "\n\n".join([*parts, "\n".join(lines)])


def tables(plan: "Plan") -> dict[str, tuple[Row, list[Row]]]:
    """Title → (columns, rows): inputs, parameters, bound by term, networks, nodes."""
    return {
        "Constants in the theorems": (("constant", "value", "source"), _input_rows(plan)),
        "Parameters of GT-NSGDm": (PARAMETER_COLUMNS, _parameter_rows(plan)),
        "The bound by term": (TERM_COLUMNS, _term_rows(plan)),
        "Other networks": (OPTION_COLUMNS, _option_rows(plan.networks())),
        "More nodes": (OPTION_COLUMNS, _option_rows(plan.more_nodes())),
    }


def _input_rows(plan: "Plan") -> list[Row]:
    c = plan.constants
    values = {"L": c.smoothness, "Δ0": c.gap, "‖∇f(x⁰)‖": c.grad_norm}
    values |= {"‖∇F(1⊗x⁰)‖": c.stacked_grad_norm, "σ": c.sigma, "p": c.p}
    values |= {"‖x⁰ − x*‖": plan.distance}
    counts = {"n": _count(c.num_nodes), "T": _count(plan.steps), "λ": below_one(c.lam, ".4g")}
    shown = counts | {name: f"{value:.4g}" for name, value in values.items()}
    return [(name, value, plan.how.get(name, "")) for name, value in shown.items()]


def _parameter_rows(plan: "Plan") -> list[Row]:
    p = plan.constants.p
    set_by = {name: rule.binding for name, rule in plan.parameters.items()}
    promised = {name: f"T^-{rate(p, p_known=name == 'p known'):.3f}" for name in set_by}
    return [
        (
            name,
            f"{setting.lr:.3g}",
            f"{setting.momentum:.5g}",
            f"{setting.lr * plan.steps:.3g}",
            set_by.get(name, f"{REACH:g} ‖x⁰ − x*‖/T"),
            promised.get(name, "none"),
            f"{plan.bounds[name].total:.3g}",
        )
        for name, setting in plan.settings.items()
    ]


def _term_rows(plan: "Plan") -> list[Row]:
    known, unknown = plan.bounds["p known"], plan.bounds["p unknown"]
    return [
        (name, formula, f"{value:.3g}", f"{unknown[name]:.3g}", f"{share:.0%}")
        for name, formula, value, share in known.table()
    ]


def _option_rows(options: Sequence[Option]) -> list[Row]:
    return [
        (o.name, below_one(o.lam, ".4f"), f"{o.bound:.3g}", _count(o.steps_to_match))
        for o in options
    ]


def advice(plan: "Plan") -> list[str]:
    """How far the steps reach, what dominates the bound, and what would help."""
    return [*_reach(plan), *_bound_in_words(plan)]


def _reach(plan: "Plan") -> list[str]:
    """Whether the theorems' steps can arrive, and what to run where they cannot."""
    reach, to_go = plan.parameters["p known"].lr * plan.steps, plan.distance
    if reach < to_go:
        verdict = f"reach at most αT = {reach:.2g}, which is too short"
    else:
        verdict = f"can reach αT = {reach:.2g}, {reach / to_go:.2g} times as far"
    return [
        f"The optimum is {to_go:.2g} away. With p known the steps {verdict}.",
        f"The practical setting can cover {REACH:g} times the distance to the optimum, with "
        f"β = {MOMENTUM}. It is a rule of thumb, and no theorem promises a rate for it. The "
        "bound holds for any α and β.",
    ]


def _bound_in_words(plan: "Plan") -> list[str]:
    known, start = plan.bounds["p known"], plan.constants.grad_norm
    perfect = theorem_bound(dataclasses.replace(plan.constants, lam=0.0), plan.steps).total
    ratio = noise_to_drift(plan.constants)
    lead = "more nodes help" if ratio > 1 else "more nodes help little"
    share = known.dominant.value / known.total
    lines = [
        f"The largest term is the {known.dominant.name}: {share:.0%} of the bound.",
        f"Perfect averaging (λ = 0) would lower the bound by {1 - perfect / known.total:.0%}.",
        f"σ / (n^(1−1/p) √(LΔ0/(1−λ))) = {ratio:.2g}: for large T {lead}.",
    ]
    if known.total > start > 0:
        lines.append(
            f"The bound exceeds ‖∇f(x⁰)‖ = {start:.3g} until "
            f"T = {_count(steps_for(start, plan.constants))}: it is a worst case. Compare its "
            "terms with each other; do not read it as a forecast."
        )
    return lines


def _count(value: float) -> str:
    """Whole up to a million, in powers of ten beyond."""
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def _text_table(columns: Row, rows: Sequence[Row]) -> str:
    """Columns under their names and a rule."""
    rule = ["─" * max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    return "\n".join(aligned([columns, rule, *rows]))
