"""The matrix sign by Newton and Schulz, of many matrices with few products."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gossamer.algorithms.operators import inverse_norm

COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""a, b and c of Muon."""

LEGS = 2, 3
"""Steps taken on G before it is formed anew: it has z's singular values squared, and few digits."""


def newton_schulz(y: Tensor) -> Tensor:
    """Approximately U Vᵀ, the matrix sign of y = U Σ Vᵀ, for each matrix in the last two axes.

    Starting from z = y/‖y‖_F, it takes five steps z ← a z + (b G + c G²) z with G = z zᵀ and
    Muon's coefficients a, b and c. Singular values of at least 0.01 ‖y‖_F end in [0.68, 1.14],
    smaller ones below 1.21; 0 stays 0.

    On CUDA, if y is in float32, the products are computed in float16. The rounding errors grow in
    five steps to a Frobenius norm of at most 2⁻¹¹ a⁵ = 0.24. For comparison, the Frobenius norm of
    U Vᵀ is √rank.

    >>> turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> newton_schulz(100 * turn)
    tensor([[ 0.0000, -1.1...],
            [ 1.1...,  0.0000]])
    """
    return matrix_signs([y])[0]


def matrix_signs(matrices: Sequence[Tensor]) -> list[Tensor]:
    """`newton_schulz` of each; those with the same shorter side share the products of that size.

    All steps multiply z by polynomials of one matrix, so G and what it multiplies z by can be
    followed without z: z itself, which may be long, is met twice per leg.
    """
    found = [unit(y).to(precision(y)).reshape(-1, *y.shape[-2:]) for y in matrices]
    for steps in LEGS:
        found = leg(found, steps)
    return [z.to(y.dtype).view_as(y) for z, y in zip(found, matrices, strict=True)]


def unit(y: Tensor) -> Tensor:
    """y/‖y‖_F, with 0/0 := 0."""
    return inverse_norm(y.flatten(-2)).unsqueeze(-1) * y


def precision(y: Tensor) -> torch.dtype:
    """Of the products: no number in them is large, so float16 has more digits than bfloat16."""
    return torch.float16 if y.is_cuda and y.dtype == torch.float32 else y.dtype


def leg(matrices: Sequence[Tensor], steps: int) -> list[Tensor]:
    """Each matrix z, `(batch, rows, columns)`, after `steps` steps."""
    grams = [gram(z) for z in matrices]
    found: dict[int, Tensor] = {}
    for side in {g.shape[-1] for g in grams}:
        same = [i for i, g in enumerate(grams) if g.shape[-1] == side]
        joined = torch.cat([grams[i] for i in same])
        parts = factor(joined, steps).split([len(grams[i]) for i in same])
        found |= {i: times(part, matrices[i]) for i, part in zip(same, parts, strict=True)}
    return [found[i] for i in range(len(matrices))]


def factor(gram: Tensor, steps: int) -> Tensor:
    """p such that p z is z after `steps` steps, where z zᵀ = `gram`."""
    precise = gram.float() if gram.dtype == torch.float16 else gram
    p = q = polynomial(precise)
    for _ in range(steps - 1):
        precise = q @ precise @ q
        q = polynomial(precise)
        p = q @ p
    return p.to(gram.dtype)


def polynomial(gram: Tensor) -> Tensor:
    """q = a I + b G + c G²: a step is z ← q z."""
    a, b, c = COEFFICIENTS
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    return a * identity + b * gram + c * (gram @ gram)


def gram(z: Tensor) -> Tensor:
    """z zᵀ, or zᵀ z where that is smaller."""
    return z.mT @ z if tall(z) else z @ z.mT


def times(p: Tensor, z: Tensor) -> Tensor:
    """p z, or z pᵀ on the other side."""
    return z @ p.mT if tall(z) else p @ z


def tall(z: Tensor) -> bool:
    """Whether z has more rows than columns."""
    return z.shape[-2] > z.shape[-1]
