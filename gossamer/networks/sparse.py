"""Sparse square matrices, the one storage of every mixing matrix."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import torch
from torch import Tensor

ROUNDING = 1e-12
"""Weights closer than this are the same weight."""


def coo(size: int, row: Tensor, col: Tensor, values: Tensor) -> Tensor:
    """A square COO tensor; entries at the same place add up."""
    with warnings.catch_warnings():  # torch 2.11 warns even when told not to check
        warnings.filterwarnings("ignore", "Sparse invariant checks")
        places = torch.stack([row, col])
        return torch.sparse_coo_tensor(
            places, values, (size, size), check_invariants=False
        ).coalesce()


def compressed_rows(crow: Tensor, col: Tensor, values: Tensor) -> Tensor:
    """A square CSR tensor, for sparse products."""
    size = len(crow) - 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        warnings.filterwarnings("ignore", "Sparse invariant checks")
        return torch.sparse_csr_tensor(crow, col, values, (size, size), check_invariants=False)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A square float64 matrix in compressed rows: row i is the part crow[i]:crow[i+1] of the rest.

    Args:
        size: number of rows and of columns, n.
        crow: where each row starts, (n + 1,) int64.
        col: column of each non-zero, sorted within a row, (nnz,) int64.
        values: the non-zeros, (nnz,) float64.
    """

    size: int
    crow: Tensor
    col: Tensor
    values: Tensor

    @classmethod
    def from_entries(cls, size: int, row: Tensor, col: Tensor, values: Tensor) -> "SparseMatrix":
        """Collect entries in any order; those at the same place add up, zeros are dropped."""
        entries = coo(size, row, col, values.double())
        kept = entries.values() != 0
        row, col = entries.indices()[:, kept]
        crow = torch.zeros(size + 1, dtype=torch.int64)
        crow[1:] = torch.bincount(row, minlength=size).cumsum(0)
        return cls(size, crow, col, entries.values()[kept])

    @classmethod
    def from_tensor(cls, matrix: Tensor) -> "SparseMatrix":
        """The non-zeros of a square tensor, dense or sparse."""
        entries = matrix.detach().cpu().to_sparse_coo().coalesce()
        row, col = entries.indices()
        return cls.from_entries(matrix.shape[0], row, col, entries.values())

    @cached_property
    def row(self) -> Tensor:
        """Row of each non-zero, (nnz,)."""
        return torch.repeat_interleave(torch.arange(self.size), self.crow.diff())

    @cached_property
    def transposed(self) -> "SparseMatrix":
        """Aᵀ."""
        return self.from_entries(self.size, self.col, self.row, self.values)

    def entries_of(self, row: int) -> dict[int, float]:
        """The non-zeros of one row, by column."""
        where = slice(int(self.crow[row]), int(self.crow[row + 1]))
        return dict(zip(self.col[where].tolist(), self.values[where].tolist(), strict=True))

    def at(self, row: Tensor, col: Tensor) -> Tensor:
        """The entries a_ij at the given rows and columns, 0 included."""
        held, asked = self.row * self.size + self.col, row * self.size + col
        place = torch.searchsorted(held, asked).clamp(max=len(held) - 1)
        return torch.where(held[place] == asked, self.values[place], 0.0)

    def row_sums(self) -> Tensor:
        """A 1, (n,)."""
        return torch.zeros(self.size, dtype=torch.float64).index_add(0, self.row, self.values)

    def times(self, other: "SparseMatrix") -> "SparseMatrix":
        """A B, in time and memory of its non-zeros."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse")
            factors = [coo(m.size, m.row, m.col, m.values) for m in (self, other)]
            return self.from_tensor(torch.sparse.mm(*factors))

    @classmethod
    def sum_of(cls, *products: "Sequence[SparseMatrix]") -> "SparseMatrix":
        """A_1 B_1 … + A_2 B_2 … + …"""
        terms = [reduce(SparseMatrix.times, factors) for factors in products]
        row, col, values = (
            torch.cat([getattr(term, name) for term in terms]) for name in ("row", "col", "values")
        )
        return cls.from_entries(terms[0].size, row, col, values)

    def equals(self, other: "SparseMatrix") -> bool:
        """Same non-zeros, up to rounding."""
        return (
            torch.equal(self.crow, other.crow)
            and torch.equal(self.col, other.col)
            and torch.allclose(self.values, other.values, rtol=0, atol=ROUNDING)
        )

    def dense(self) -> Tensor:
        """A new (n, n) float64 tensor."""
        matrix = torch.zeros(self.size, self.size, dtype=torch.float64)
        matrix[self.row, self.col] = self.values
        return matrix

    def csr(self, dtype: torch.dtype, device: torch.device | str) -> Tensor:
        """As a torch CSR tensor, for sparse products."""
        return compressed_rows(self.crow, self.col, self.values).to(device=device, dtype=dtype)

    @cached_property
    def symbol(self) -> Tensor | None:
        """The first row (n,) when the matrix is circulant, a_ij = a_0,(j−i mod n); else None."""
        n = self.size
        shift = (self.col - self.row) % n
        first = torch.zeros(n, dtype=torch.float64)
        first[self.col[: self.crow[1]]] = self.values[: self.crow[1]]
        same_count = bool((self.crow.diff() == self.crow[1]).all())
        same_values = torch.allclose(first[shift], self.values, rtol=0, atol=1e-15)
        return first if same_count and same_values else None
