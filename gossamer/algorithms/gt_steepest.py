"""GT-NSGDm in other geometries: the tracker's steepest direction in another norm."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gossamer.algorithms.admissible import Fraction, Order, StepSize
from gossamer.algorithms.algorithm import Algorithm
from gossamer.algorithms.gt_nsgdm import GTNSGDmState
from gossamer.algorithms.local import Shapes
from gossamer.algorithms.matrix_sign import matrix_signs, unit
from gossamer.algorithms.mixing import Mix, total_like
from gossamer.algorithms.operators import descend, estimate_and_track, inverse_norm


@dataclass(frozen=True)
class GTSteepest(Algorithm[GTNSGDmState]):
    """Base class of methods that track momentum and step in a `direction` made from the tracker.

    vᵗ = β vᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, v⁻¹ = 0
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α D(yᵗ))                                 α = `lr`

    −D(y) is the direction of steepest descent in some norm, and the step subtracts D(y). The length
    of D(y) does not depend on the length of y. The Euclidean norm of all parameters gives
    `GTNSGDm`. A subclass only has to define `direction`. The hyper-parameter `order` means the same
    as in `GTNSGDm`.
    """

    tracker: ClassVar[str | None] = "y"

    lr: StepSize
    momentum: Fraction
    order: Order = "adapt-then-combine"

    @abstractmethod
    def direction(self, y: Tensor, local: Shapes) -> Tensor:
        """D(y); `local` splits y into the tensors of the model."""

    def init(self, x: Tensor) -> GTNSGDmState:
        """v⁻¹ = y⁻¹ = 0."""
        return GTNSGDmState(v=torch.zeros_like(x), y=total_like(x))

    def step(  # type: ignore[override]
        self, t: int, x: Tensor, grad: Tensor, state: GTNSGDmState, mix: Mix, local: Shapes
    ) -> tuple[Tensor, GTNSGDmState]:
        """Estimate, track, then step along D(yᵗ) and mix."""
        # vᵗ = β vᵗ⁻¹ + (1−β) gᵗ,  yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)
        v, y, d, _ = estimate_and_track(*state, grad, self.momentum, mix, self.order)
        x = descend(x, self.lr, self.direction(d, local), mix, self.order)  # W (xᵗ − α D(yᵗ))
        return x, GTNSGDmState(v, y)

    def info(self, t: int, x: Tensor, grad: Tensor, state: GTNSGDmState) -> dict[str, Tensor]:
        """`tracker_norm` is ‖yᵗ⁻¹‖, the norm of the tracker after the previous step."""
        return {"tracker_norm": torch.linalg.vector_norm(state.y, dim=-1).to(x)}


@dataclass(frozen=True)
class GTLayerNSGDm(GTSteepest):
    """GT-NSGDm with one norm per parameter tensor: all layers move at the same pace.

    vᵗ = β vᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, v⁻¹ = 0
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α D(yᵗ))                                 α = `lr`
    D(y)ₗ = yₗ √sizeₗ / ‖yₗ‖                                for every tensor l, 0/0 := 0

    In the step of every tensor the root mean square of the coordinates is α, however large the
    tensor and its gradient are.
    """

    label: ClassVar[str] = "GT-LayerNSGDm"

    def direction(self, y: Tensor, local: Shapes) -> Tensor:
        """Every tensor, scaled to root mean square 1."""
        stacks = zip(local.alike(y), local.kinds, strict=True)
        return local.apart(math.sqrt(kind.numel()) * inverse_norm(z) * z for z, kind in stacks)


@dataclass(frozen=True)
class GTSignSGDm(GTSteepest):
    """GT-NSGDm with steps along signs: all coordinates move at the same pace.

    vᵗ = β vᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, v⁻¹ = 0
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α sign(yᵗ))                              α = `lr`, sign(0) = 0

    −sign(y) is the direction of steepest descent in the maximum norm.
    """

    label: ClassVar[str] = "GT-SignSGDm"

    def direction(self, y: Tensor, local: Shapes) -> Tensor:
        """The sign of every coordinate."""
        return y.sign()


@dataclass(frozen=True)
class DeMuon(GTSteepest):
    """GT-NSGDm with steps along the matrix sign: all singular directions move at the same pace.

    vᵗ = β vᵗ⁻¹ + (1−β) gᵗ                                  β = `momentum`, v⁻¹ = 0
    yᵗ = W (yᵗ⁻¹ + vᵗ − vᵗ⁻¹)                               y⁻¹ = 0
    xᵗ⁺¹ = W (xᵗ − α D(yᵗ))                                 α = `lr`
    D(y)ₗ ≈ U Vᵀ where yₗ = U Σ Vᵀ                          for every matrix l (Newton–Schulz)
    D(y)ₗ = yₗ / ‖yₗ‖                                       for every vector l, 0/0 := 0

    −D(y) is the direction of steepest descent in the spectral norm, where a vector counts as a
    matrix with one column. A tensor with more than two axes is reshaped to a matrix with one row
    for each index of its first axis.

    Reference: He, Ren, Mao and Larsson, DeMuon: a decentralized Muon for matrix optimization over
    graphs (2025).
    """

    label: ClassVar[str] = "DeMuon"

    def direction(self, y: Tensor, local: Shapes) -> Tensor:
        """The matrix sign of every tensor."""
        pairs = zip(local.alike(y), local.kinds, strict=True)
        stacks = [as_matrices(local.whole(z, kind), kind) for z, kind in pairs]
        signs = iter(matrix_signs([z for z in stacks if not is_vector(z)]))
        found = [unit(z) if is_vector(z) else next(signs) for z in stacks]
        return local.apart(z.flatten(-2) for z in found)


def as_matrices(y: Tensor, shape: torch.Size) -> Tensor:
    """Tensors of `shape`, which the last axis of y holds flat, as matrices.

    >>> [tuple(as_matrices(torch.zeros(5, 24), torch.Size(s)).shape) for s in ([4, 3, 2], [24])]
    [(5, 4, 6), (5, 24, 1)]
    """
    return y.unflatten(-1, (shape[0] if shape else 1, math.prod(shape[1:])))


def is_vector(matrix: Tensor) -> bool:
    """Whether it has one row or one column at most."""
    return min(matrix.shape[-2:]) <= 1
