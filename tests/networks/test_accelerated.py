"""Several exchanges per step, weighted by Chebyshev's polynomials."""

import pytest
import torch
from numpy.polynomial import chebyshev

import gossamer as gs
from gossamer.networks import StaticNetwork

NETWORKS = [gs.ring(20), gs.star(7), gs.erdos_renyi(12, 0.4, seed=1), gs.complete(5)]
every_network = pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)


@every_network
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_lambda_is_what_the_polynomial_leaves(network: StaticNetwork, k: int):
    """1/T_k(1/λ), which is the norm of P_k(W) − 11ᵀ/n where −λ or λ is an eigenvalue of W."""
    fast = network.accelerated(k)
    left = float(torch.linalg.matrix_norm(fast.weights - 1 / network.num_nodes, ord=2))
    assert left == pytest.approx(fast.lam, abs=1e-12)
    assert fast.lam <= network.lam**k + 1e-12


@every_network
def test_the_polynomial_is_chebyshevs(network: StaticNetwork):
    k, lam = 4, network.lam
    if lam < 1e-12:
        pytest.skip("one exchange averages exactly")
    basis = [0.0] * k + [1.0]
    values, vectors = torch.linalg.eigh(network.weights)
    scaled = chebyshev.chebval((values / lam).numpy(), basis) / chebyshev.chebval(1 / lam, basis)
    expected = vectors @ torch.diag(torch.from_numpy(scaled)) @ vectors.T
    torch.testing.assert_close(network.accelerated(k).weights, expected, rtol=0, atol=1e-12)


@every_network
def test_opinions_and_totals_are_kept(network: StaticNetwork):
    W = network.accelerated(5).weights
    torch.testing.assert_close(W, W.T, rtol=0, atol=1e-13)
    torch.testing.assert_close(W.sum(1), torch.ones(len(W)).double(), rtol=0, atol=1e-12)


def test_more_exchanges_need_fewer_messages_than_plain_ones():
    """On a ring of 20, to 10⁻³: 209 plain exchanges, 10 × 6 accelerated ones."""
    plain, fast = gs.ring(20), gs.ring(20).accelerated(10)
    assert 10 * fast.mixing_time() < plain.mixing_time() / 3


def test_many_exchanges_leave_nothing():
    assert gs.ring(20).accelerated(3000).lam < 1e-200
