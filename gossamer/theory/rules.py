"""The step size and momentum of Theorems 1 and 2."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.algorithms import GTNSGDm
from gossamer.errors import whole
from gossamer.interval import POSITIVE, within
from gossamer.theory.checks import require_lam, require_p, require_steps


def forgetting_exponent(p: float | None = None) -> float:
    """The exponent e in 1 − β = T^(−e), which sets the momentum β for T steps.

    For known p (Theorem 1) it is p/(3p−2), and for unknown p (Theorem 2) it is 1/2. Both agree at
    p = 2. A heavier tail needs a longer memory: e → 1 as p → 1.

    >>> forgetting_exponent(2.0), forgetting_exponent(), round(forgetting_exponent(1.45), 4)
    (0.5, 0.5, 0.617)
    """
    if p is None:
        return 0.5
    require_p(p)
    return p / (3 * p - 2)


def momentum_rule(steps: float, p: float | None = None) -> float:
    """The momentum β = 1 − T^(−e) with T = `steps` and e = `forgetting_exponent(p)`.

    Since e ≥ 1/2 and T ≥ 2, β is at least 1 − 1/√2 = 0.29, and so the theorems' assumption
    β ≥ 1/10 always holds.

    >>> momentum_rule(10_000), round(momentum_rule(10_000, p=1.45), 4)
    (0.99, 0.9966)
    """
    return 1 - _forgetting(steps, p)


def _forgetting(steps: float, p: float | None) -> float:
    require_steps(steps)
    return float(steps) ** -forgetting_exponent(p)


@dataclass(frozen=True)
class Parameters:
    """The step size and momentum that a theorem sets for GT-NSGDm."""

    forgetting: float
    """1 − β, stored beside β because it stays accurate even if T is so large that β rounds to 1."""

    candidates: Mapping[str, float]
    """Name → value of each term in the minimum that defines α; see `parameters`."""

    @property
    def lr(self) -> float:
        """α, the smallest of `candidates`."""
        return min(self.candidates.values())

    @property
    def momentum(self) -> float:
        """β."""
        return 1 - self.forgetting

    @property
    def binding(self) -> str:
        """The name of the smallest candidate, which sets α, e.g. "momentum"."""
        return min(self.candidates, key=lambda name: self.candidates[name])

    def algorithm(self) -> GTNSGDm:
        """GT-NSGDm with these parameters."""
        return GTNSGDm(lr=self.lr, momentum=self.momentum)


def parameters(
    steps: float,
    *,
    num_nodes: int,
    lam: float,
    smoothness: float,
    gap: float,
    p: float | None = None,
) -> Parameters:
    """The step size and momentum of Theorem 1 (p known) or Theorem 2 (`p=None`).

    The momentum is β = `momentum_rule(steps, p)`, and the step size α is the smallest of

    - "cap": 1;
    - "momentum": √(Δ0 (1−β)(1−λ)/(4LT));
    - "consensus": √(Δ0 (1−λ)/(3.5LT)), which is never the smallest, since (1−β)/4 < 1/3.5;
    - "tracking": √(Δ0 (1−λ)²/(2√n LT)).

    Neither theorem needs the noise level σ. If you do not know λ, build the network with
    `weights="laplacian"` and pass `lam=laplacian_lam(num_nodes)`.

    Args:
        steps: T.
        num_nodes: n.
        lam: λ = ‖W − 11ᵀ/n‖₂, or an upper bound on it.
        smoothness: L, such that every ∇f_i is L-Lipschitz, or an upper bound.
        gap: Δ0 = f(x⁰) − inf f, or an upper bound.
        p: the order of the noise's finite moment, in (1, 2]; None if it is unknown.

    >>> rule = parameters(10_000, num_nodes=20, lam=0.9, smoothness=2.0, gap=1.0, p=1.45)
    >>> rule.algorithm()
    GTNSGDm(lr=6.5...e-05, momentum=0.99659...)
    >>> rule.binding
    'momentum'
    """
    forgetting = _forgetting(steps, p)
    require_lam(lam)
    whole("num_nodes", num_nodes, 1)
    within("smoothness", smoothness, POSITIVE)
    way_out = "at gap 0 the start is a minimizer, and there is nothing to do"
    within("gap", gap, POSITIVE, way_out)
    scale = gap * (1 - lam) / (smoothness * steps)
    candidates = {
        "cap": 1.0,
        "momentum": math.sqrt(scale * forgetting / 4),
        "consensus": math.sqrt(scale / 3.5),
        "tracking": math.sqrt(scale * (1 - lam) / (2 * math.sqrt(num_nodes))),
    }
    return Parameters(forgetting, candidates)


def laplacian_lam(num_nodes: int) -> float:
    """An upper bound on λ that needs only n, for undirected graphs with `weights="laplacian"`.

    With these weights, every connected graph has λ ≤ 1 − (4/n) sin²(π/2n) ≤ 1 − 8/n³. The first of
    the two bounds is returned. The weights are W = I − 𝓛/n, with 𝓛 = D − A the Laplacian of the
    graph. Its eigenvalues lie in [0, n], so λ = 1 − λ₂(𝓛)/n. Fiedler proved
    λ₂(𝓛) ≥ 2(1 − cos(π/n)), with equality for the path. The paper cites λ ≤ 1 − c/n³ with an
    unspecified c. The largest c that holds for all n ≥ 2 is 8 (equality at n = 2), and for large n
    the largest c tends to π². Mohar's bound λ₂ ≥ 4/(n · diameter) would give c = 4.

    >>> import gossamer as gs
    >>> laplacian_lam(8), gs.line(8, weights="laplacian").lam, gs.ring(8, weights="laplacian").lam
    (0.98096..., 0.98096..., 0.92677...)

    Reference: M. Fiedler, "Algebraic connectivity of graphs", Czechoslovak Math. J. 23 (1973);
    B. Mohar, "Eigenvalues, diameter, and mean distance in graphs", Graphs Combin. 7 (1991).
    """
    whole("num_nodes", num_nodes, 1)
    if num_nodes == 1:
        return 0.0
    return 1 - 4 / num_nodes * math.sin(math.pi / (2 * num_nodes)) ** 2
