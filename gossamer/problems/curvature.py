"""How steep gradients are that are linear in rows of data."""

import torch
from torch import Tensor


def steepest(rows: Tensor, sizes: Tensor) -> float:
    """max_i λ_max(A_iᵀA_i/m_i) for A = `rows`, `(nodes, samples, dim)`, and m = `sizes`.

    A Aᵀ has the same eigenvalues but for zeros: the smaller of the two matrices is never larger
    than the data.

    >>> steepest(torch.tensor([[[3.0, 4.0, 0.0]]]), torch.tensor([1]))
    25.0
    """
    _, samples, dim = rows.shape
    gram = rows @ rows.mT if samples < dim else rows.mT @ rows
    return float(torch.linalg.eigvalsh(gram / sizes[:, None, None]).max())
