"""The theorems as code: rules for the parameters, the bound, the rates, and a plan for a run.

The two theorems of the GT-NSGDm paper (Yu, Jakovetić and Kar, 2026) bound the average gradient norm
of `GTNSGDm` after T steps on n nodes, if the gradient noise ξ satisfies E‖ξ‖^p ≤ σ^p for some p in
(1, 2]. They set the step size α and the momentum β: Theorem 1 for known p, Theorem 2 for unknown p.
The other symbols are λ < 1, which says how fast the network averages (the smaller, the faster),
the Lipschitz constant L of the nodes' gradients, the common start x⁰, the optimum x*, and
Δ0 = f(x⁰) − inf f.
"""

from gossamer.theory._bound import FORMULAS, Bound, Term, bound
from gossamer.theory._plan import plan
from gossamer.theory.auto import MomentumChoice, momentum_from_noise
from gossamer.theory.batches import estimate_sigma_from_batches
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
    "estimate_sigma_from_batches",
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
