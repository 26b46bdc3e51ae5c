import torch

from gossamer.networks.sparse import SparseMatrix


def random_matrix(seed: int = 0, n: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(n, n, dtype=torch.float64, generator=generator)
    return A * (torch.rand(n, n, generator=generator) < 0.3)


def test_dense_and_csr_give_back_the_matrix():
    A = random_matrix()
    matrix = SparseMatrix.from_tensor(A)
    assert torch.equal(matrix.dense(), A)
    assert torch.equal(matrix.csr(torch.float64, "cpu").to_dense(), A)
    assert torch.equal(matrix.transposed.dense(), A.T)
    torch.testing.assert_close(matrix.row_sums(), A.sum(1))
    assert matrix.values.numel() == int((A != 0).sum())
    assert matrix.entries_of(2) == {j: float(A[2, j]) for j in range(7) if A[2, j] != 0}


def test_entries_at_one_place_add_up_and_zeros_go():
    row, col = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]])
    matrix = SparseMatrix.from_entries(2, row, col, torch.tensor([1.0, 2.0, 3.0, 0.0]))
    assert matrix.dense().tolist() == [[0, 2], [4, 0]]
    assert matrix.values.tolist() == [2, 4]


def test_symbol_is_the_first_row_of_circulants_only():
    first = torch.tensor([0.5, 0.0, 0.3, 0.2], dtype=torch.float64)
    rows = torch.stack([first.roll(i) for i in range(4)])
    symbol = SparseMatrix.from_tensor(rows).symbol
    assert symbol is not None
    assert torch.equal(symbol, first)
    for change in (0.1, -0.5):
        changed = rows.clone()
        changed[2, 2] += change
        assert SparseMatrix.from_tensor(changed).symbol is None


def test_a_product_is_that_of_the_matrices():
    A, B = random_matrix(0), random_matrix(1)
    product = SparseMatrix.from_tensor(A).times(SparseMatrix.from_tensor(B))
    torch.testing.assert_close(product.dense(), A @ B, rtol=0, atol=1e-14)
