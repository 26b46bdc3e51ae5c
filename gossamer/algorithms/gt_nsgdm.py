"""GT-NSGDm: gradient tracking, normalization and momentum, the paper's method."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, Order, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import descend, estimate_and_track, inverse, norm


class GTNSGDmState(NamedTuple):
    """The local gradient estimator v and the global gradient tracker y."""

    v: Tensor
    y: Tensor


@dataclass(frozen=True)
class GTNSGDm(Algorithm[GTNSGDmState]):
    """Gradient Tracking based Normalized SGD with momentum (Algorithm 1 of the paper).

    vᵗ = β vᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, v⁻¹ = 0
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α yᵗ/‖yᵗ‖)                               α = `lr`, 0/0 := 0

    Momentum averages out noise, and tracking makes every yᵢ approach the network's average
    gradient. Normalizing *after* tracking gives a step along the normalized sum of the gradients.
    Let the noise have only a finite p-th moment, 1 < p ≤ 2. If p is known, and α and β are those of
    Theorem 1, then E‖∇f‖ falls as T^(−(p−1)/(3p−2)) in T steps. This rate is optimal.

    One norm covers all parameters of a node, and no ε is added to it.

    The paper's order is adapt-then-combine, as above. With `order="combine-then-adapt"` the
    equations are

    yᵗ = W yᵗ⁻¹ + vᵗ − vᵗ⁻¹,   xᵗ⁺¹ = W xᵗ − α yᵗ/‖yᵗ‖

    Nodes then know what to send before they compute the gradient, so that messages can travel
    meanwhile (`overlap` of `DecentralizedOptimizer`). The sum of y over the nodes stays the same,
    but the nodes' steps differ a little more, and the paper's theorems do not cover this order.

    >>> import torch
    >>> algorithm = GTNSGDm(lr=0.1, momentum=0.8)
    >>> x = torch.tensor([[3.0, 4.0]])                      # one node, f(x) = ‖x‖²/2
    >>> x, state = algorithm.step(0, x, x, algorithm.init(x), mix=lambda z: z)
    >>> x
    tensor([[2.9400, 3.9200]])
    """

    label: ClassVar[str] = "GT-NSGDm"
    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    momentum: Fraction
    order: Order = "adapt-then-combine"

    def init(self, x: Tensor) -> GTNSGDmState:
        """v⁻¹ = y⁻¹ = 0."""
        return GTNSGDmState(v=torch.zeros_like(x), y=total_like(x))

    def step(
        self, t: int, x: Tensor, grad: Tensor, state: GTNSGDmState, mix: Mix
    ) -> tuple[Tensor, GTNSGDmState]:
        """Estimate, track, then step by α along the tracker and mix."""
        # vᵗ = β vᵗ⁻¹ + (1−β) gᵗ,  yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)
        v, y, d, length = estimate_and_track(*state, grad, self.momentum, mix, self.order)
        scale = self.lr * inverse(norm(d) if length is None else length)
        x = descend(x, scale, d, mix, self.order)  # xᵗ⁺¹ = W (xᵗ − α yᵗ/‖yᵗ‖)
        return x, GTNSGDmState(v, y)

    def info(self, t: int, x: Tensor, grad: Tensor, state: GTNSGDmState) -> dict[str, Tensor]:
        """`tracker_norm` is ‖yᵗ⁻¹‖, by which the previous step divided its tracker."""
        return {"tracker_norm": torch.linalg.vector_norm(state.y, dim=-1)}
