"""The assumptions as numbers: all that the bound depends on."""

from dataclasses import dataclass

from gossamer.errors import whole
from gossamer.interval import NONNEGATIVE, POSITIVE, within
from gossamer.theory.checks import require_lam, require_p
from gossamer.theory.rules import Parameters, parameters


@dataclass(frozen=True)
class Constants:
    """The constants in the theorems' bound: n, λ, L, Δ0, the gradients at the start, σ and p.

    >>> constants = Constants(
    ...     num_nodes=4, lam=0.0, smoothness=1.0, gap=1.0, grad_norm=1.0, stacked_grad_norm=2.0,
    ...     sigma=3.0, p=1.45,
    ... )
    >>> round(constants.parameters(1000).momentum, 3)
    0.986
    """

    num_nodes: int
    """n, the number of nodes."""

    lam: float
    """λ = ‖W − 11ᵀ/n‖₂ of the network's mixing matrix W."""

    smoothness: float
    """L, such that every ∇f_i is L-Lipschitz."""

    gap: float
    """Δ0 = f(x⁰) − inf f."""

    grad_norm: float
    """‖∇f(x⁰)‖, the norm of the average of the nodes' gradients at the start."""

    stacked_grad_norm: float
    """‖∇F(1⊗x⁰)‖ = (Σ_i ‖∇f_i(x⁰)‖²)^½, the norm of all nodes' gradients at the start, stacked."""

    sigma: float
    """σ, such that E‖ξ‖^p ≤ σ^p for the noise ξ of one node's gradient."""

    p: float
    """The order of the noise's finite moment, in (1, 2]."""

    def __post_init__(self) -> None:
        whole("num_nodes", self.num_nodes, 1)
        require_lam(self.lam)
        within("smoothness", self.smoothness, POSITIVE)
        within("gap", self.gap, POSITIVE)
        within("grad_norm", self.grad_norm, NONNEGATIVE)
        within("stacked_grad_norm", self.stacked_grad_norm, NONNEGATIVE)
        within("sigma", self.sigma, NONNEGATIVE, "an infinite σ means that p is too large")
        require_p(self.p)

    def parameters(self, steps: float, *, p_known: bool = True) -> Parameters:
        """Step size and momentum of Theorem 1, or of Theorem 2 if `p_known` is False."""
        return parameters(
            steps,
            num_nodes=self.num_nodes,
            lam=self.lam,
            smoothness=self.smoothness,
            gap=self.gap,
            p=self.p if p_known else None,
        )
