"""Networks from a mixing matrix."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gossamer.errors import require
from gossamer.networks.periodic import require_contraction
from gossamer.networks.recipe import Recipe
from gossamer.networks.sparse import SparseMatrix
from gossamer.networks.static import StaticNetwork

Matrix = Any
"""What `torch.as_tensor` takes: a tensor (dense or sparse), an array, nested lists."""
SUM_TOLERANCE = 1e-9
"""How far row and column sums may be from 1."""


def from_matrix(weights: Matrix, *, name: str | None = None) -> StaticNetwork:
    """The network of a doubly stochastic matrix W with λ < 1; node i gives weight w_ir to node r.

    Args:
        weights: W, (n, n): a tensor (dense or sparse), an array or nested lists, with rows and
            columns that sum to 1 within 1e-9.
        name: name of the network in results; by default made of a fingerprint of W.

    A doubly stochastic matrix is refused if its λ is 1, even if it is primitive (some power of it
    has only positive entries):

    >>> from_matrix([[0, 1, 0], [0.5, 0, 0.5], [0.5, 0, 0.5]])
    Traceback (most recent call last):
        ...
    gossamer.errors.InvalidInput: from_matrix(matrix_...): the graph is connected but λ = 1 (...
    >>> from_matrix([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0.25, 0, 0.75]])
    from_matrix(matrix_...): 3 nodes, degrees 1 to 2, λ = 0.683013
    """
    matrix = doubly_stochastic(weights)
    return contracting(matrix, Recipe.of_matrix(matrix, name))


def contracting(matrix: SparseMatrix, recipe: Recipe) -> StaticNetwork:
    """The network of a doubly stochastic matrix, if λ < 1."""
    network = StaticNetwork(matrix, recipe)
    require_contraction(network)
    return network


def doubly_stochastic(weights: Matrix) -> SparseMatrix:
    """The matrix in our storage, if it is doubly stochastic; λ may be 1."""
    given = weights if isinstance(weights, Tensor) else torch.as_tensor(np.asarray(weights))
    _require_square(given)
    matrix = SparseMatrix.from_tensor(given)
    values = matrix.values
    require(bool(values.isfinite().all()), "weights", "NaN or infinite entries", "finite weights")
    lowest = float(values.min()) if len(values) else 0.0
    require(lowest >= 0, "weights", f"a negative weight {lowest:g}", "weights of at least 0")
    _require_sums("row", matrix.row_sums(), given.dtype)
    _require_sums("column", matrix.transposed.row_sums(), given.dtype)
    return matrix


def _require_square(weights: Tensor) -> None:
    shape = tuple(weights.shape)
    square = len(shape) == 2 and shape[0] == shape[1] > 0
    require(square, "weights", f"shape {shape}", "a square matrix, (n, n) with n of at least 1")


def _require_sums(kind: str, sums: Tensor, dtype: torch.dtype) -> None:
    low, high = float(sums.min()), float(sums.max())
    off = max(abs(low - 1), abs(high - 1))
    coarse = dtype in (torch.float32, torch.float16, torch.bfloat16) and off < 0.05
    require(
        off <= SUM_TOLERANCE,
        "weights",
        f"{kind} sums in [{low:.10g}, {high:.10g}]",
        "1",
        f"these are {dtype} entries: compute them in float64"
        if coarse
        else "build them with gs.metropolis(graph)",
    )
