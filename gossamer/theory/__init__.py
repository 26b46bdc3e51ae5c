"""The theorems as code: rules for the parameters, the bound, the rates, and a plan for a run."""

from gossamer.theory._bound import FORMULAS, Bound, Term, bound
from gossamer.theory._plan import plan
from gossamer.theory.auto import MomentumChoice, momentum_from_noise
from gossamer.theory.constants import Constants
from gossamer.theory.estimate import (
    Estimate,
    admissible_p,
    estimate_distance,
    estimate_gap,
    estimate_sigma,
    estimate_sigma_from_samples,
    estimate_smoothness,
)
from gossamer.theory.options import Option
from gossamer.theory.planned import Plan
from gossamer.theory.practical import practical_rule
from gossamer.theory.rates import (
    Slope,
    fit_slope,
    lag_transient,
    noise_to_drift,
    noise_transient,
    rate,
    steps_for,
    theorem_bound,
    useful_nodes,
)
from gossamer.theory.rules import (
    Parameters,
    forgetting_exponent,
    laplacian_lam,
    momentum_rule,
    parameters,
)

__all__ = [
    "FORMULAS",
    "Bound",
    "Constants",
    "Estimate",
    "MomentumChoice",
    "Option",
    "Parameters",
    "Plan",
    "Slope",
    "Term",
    "admissible_p",
    "bound",
    "estimate_distance",
    "estimate_gap",
    "estimate_sigma",
    "estimate_sigma_from_samples",
    "estimate_smoothness",
    "fit_slope",
    "forgetting_exponent",
    "lag_transient",
    "laplacian_lam",
    "momentum_from_noise",
    "momentum_rule",
    "noise_to_drift",
    "noise_transient",
    "parameters",
    "plan",
    "practical_rule",
    "rate",
    "steps_for",
    "theorem_bound",
    "useful_nodes",
]
