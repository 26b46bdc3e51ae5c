"""λ: how much one period of mixing contracts disagreement."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import torch
from torch import Tensor

from gossamer.networks.sparse import SparseMatrix

DENSE_LIMIT = 1000
"""Largest n whose λ comes from a dense singular value decomposition."""
TOLERANCE = 1e-12
"""Lanczos stops when twice the steps move λ² by less than this."""


def consensus_norm(*products: Sequence[SparseMatrix]) -> float:
    """‖W_{τ−1} … W_0 − 11ᵀ/n‖₂ of doubly stochastic W_0, …, W_{τ−1}; or of a sum of such products.

    Exact by FFT when all rounds are circulant, else by SVD up to 1000 nodes, else by Lanczos to
    1e-12 in the square. Beyond 1000 nodes no product is formed: where one node is linked to all
    others, it would have n² entries.

    >>> ring = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]) / 3
    >>> round(consensus_norm([SparseMatrix.from_tensor(ring)]), 6)
    0.333333
    """
    n = products[0][0].size
    if all(matrix.symbol is not None for rounds in products for matrix in rounds):
        norm = _circulant_norm(products)
    elif n <= DENSE_LIMIT:
        whole = reduce(torch.add, map(period_product, products))
        norm = float(torch.linalg.matrix_norm(whole - 1 / n, ord=2))
    else:
        norm = _lanczos_norm(products)
    rounding = max(map(len, products)) * n * torch.finfo(torch.float64).eps
    return 0.0 if norm <= rounding else norm


def period_product(rounds: Sequence[SparseMatrix]) -> Tensor:
    """W_{τ−1} … W_0, dense (n, n)."""
    product = rounds[0].dense()
    for matrix in rounds[1:]:
        product = matrix.dense() @ product
    return product


def _circulant_norm(products: Sequence[Sequence[SparseMatrix]]) -> float:
    """The eigenvalues of a circulant are the FFT of its first row; the first belongs to 1."""
    symbols = [
        torch.stack([one.symbol for one in rounds if one.symbol is not None]) for rounds in products
    ]
    eigenvalues = reduce(torch.add, (torch.fft.fft(rows).prod(0) for rows in symbols))
    return float(eigenvalues[1:].abs().max()) if eigenvalues.numel() > 1 else 0.0


def _lanczos_norm(products: Sequence[Sequence[SparseMatrix]]) -> float:
    """√ of the largest eigenvalue of PᵀP on vectors of mean zero, P the sum of the products."""
    transposed = [[matrix.transposed for matrix in reversed(rounds)] for rounds in products]
    along, back = _image(products), _image(transposed)
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    largest, next_check = 0.0, 16
    for a, b in _lanczos(lambda z: back(along(z)), products[0][0].size):
        diagonal.append(a)
        exhausted = b < TOLERANCE
        if exhausted or len(diagonal) == next_check:
            last, largest = largest, largest_eigenvalue(diagonal, off_diagonal)
            if exhausted or largest - last < TOLERANCE:
                break
            next_check *= 2
        off_diagonal.append(b)
    return math.sqrt(max(largest, 0.0))


def _image(products: Sequence[Sequence[SparseMatrix]]) -> Callable[[Tensor], Tensor]:
    """z ↦ (W_{τ−1} … W_0 + …) z, without the products."""
    factors = [[matrix.csr(torch.float64, "cpu") for matrix in rounds] for rounds in products]

    def image(z: Tensor) -> Tensor:
        return reduce(torch.add, (reduce(_times, rounds, z) for rounds in factors))

    return image


def _times(z: Tensor, matrix: Tensor) -> Tensor:
    return torch.mv(matrix, z)


def _lanczos(function: Callable[[Tensor], Tensor], n: int) -> Iterator[tuple[float, float]]:
    """Diagonal a_k and off-diagonal b_k of a map's tridiagonal form, from a random start."""
    start = torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    previous, b, rest = torch.zeros_like(start), 0.0, start - start.mean()
    current = rest / rest.norm()
    while True:
        image = function(current)
        a = float(current @ image)
        rest = image - a * current - b * previous
        rest = rest - rest.mean()  # keeps rounding from creeping back towards the vector 1
        b = float(rest.norm())
        yield a, b
        previous, current = current, rest / b


def largest_eigenvalue(diagonal: Sequence[float], off_diagonal: Sequence[float]) -> float:
    """Largest eigenvalue of the symmetric tridiagonal matrix, by bisection.

    x lies above the spectrum exactly when every pivot d_i = a_i − x − b_{i−1}²/d_{i−1} is negative.

    >>> round(largest_eigenvalue([2.0, 2.0, 2.0], [1.0, 1.0]), 12)  # 2 + √2
    3.414213562373
    """
    squares = [0.0] + [b * b for b in off_diagonal]
    low = max(diagonal)
    high = low + 2 * max((abs(b) for b in off_diagonal), default=0.0) + 1e-15
    for _ in range(60):
        middle = (low + high) / 2
        pivot, above = -1.0, True
        for a, b2 in zip(diagonal, squares, strict=True):
            pivot = a - middle - b2 / pivot
            if pivot >= 0:
                above = False
                break
        low, high = (low, middle) if above else (middle, high)
    return high
