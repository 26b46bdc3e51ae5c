"""Matrices of random rounds, and how fast they average in mean square."""

from collections.abc import Sequence

import torch
from torch import Tensor

import gossamer as gs


def rounds(network: gs.Network, seeds: Sequence[int], t: int) -> Tensor:
    """W_t of every seed, `(seeds, n, n)`: what pulling makes of the identity."""
    n = network.num_nodes
    identity = torch.eye(n, dtype=torch.float64)[:, None].expand(n, len(seeds), n).contiguous()
    pulled = network.channel(seeds, torch.float64, "cpu").talk(t, ()).pull(identity)
    return pulled.transpose(0, 1)


def mean_square(network: gs.Network, draws: int) -> tuple[float, float]:
    """‖E[WᵀW] − 11ᵀ/n‖₂ by Monte Carlo, and a band around it.

    The norm of a mean errs by no more than the norm of the mean's error, whose Frobenius norm has
    the mean square Σ_ij Var(WᵀW)_ij / draws; three times its root.
    """
    W = rounds(network, range(1000, 1000 + draws), t=5)
    squares = W.mT @ W
    norm = torch.linalg.matrix_norm(squares.mean(0) - 1 / network.num_nodes, ord=2)
    return float(norm), 3 * float((squares.var(0).sum() / draws).sqrt())
