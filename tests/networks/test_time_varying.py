import pytest
import torch

from gossamer import networks as gs
from gossamer.errors import InvalidInput

PAIRS = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
OTHER_PAIRS = [[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0.5, 0, 0, 0.5]]


def test_both_kinds_are_networks():
    assert isinstance(gs.ring(4), gs.Network)
    assert isinstance(gs.one_peer_exponential(4), gs.Network)


@pytest.mark.parametrize("n", [2, 8, 32])
def test_one_peer_averages_exactly_in_one_period_when_n_is_a_power_of_two(n: int):
    network = gs.one_peer_exponential(n)
    assert network.period == n.bit_length() - 1
    assert (network.weights - 1 / n).abs().max() < 1e-12
    assert network.lam == 0
    assert network.mixing_time() == network.period


def test_one_peer_hears_exactly_one():
    network = gs.one_peer_exponential(20)
    assert network.period == 5
    for t, shift in enumerate([1, 2, 4, 8, 16, 1, 2]):
        for i in range(20):
            weights = network.at(t).neighbor_weights(i)
            assert weights == {i: 0.5, (i - shift) % 20: 0.5}


def test_lambda_is_the_contraction_per_round():
    network = gs.one_peer_exponential(20)
    product = torch.eye(20, dtype=torch.float64)
    for t in range(5):
        product = network.at(t).weights @ product
    torch.testing.assert_close(network.weights, product, rtol=0, atol=1e-15)
    by_svd = float(torch.linalg.matrix_norm(product - 1 / 20, ord=2))
    assert network.lam == pytest.approx(by_svd ** (1 / 5), abs=1e-12)
    assert gs.time_varying([gs.ring(8)] * 3).lam == pytest.approx(gs.ring(8).lam)


def test_mixing_time_counts_whole_periods():
    network = gs.one_peer_exponential(20)
    rounds = network.mixing_time(eps=1e-3)
    assert rounds % 5 == 0
    assert network.lam**rounds <= 1e-3 < network.lam ** (rounds - 5)


def test_any_sequence_repeats():
    network = gs.time_varying([gs.ring(8), gs.exponential(8)], name="mine")
    assert network.num_nodes == 8
    assert network.period == 2
    assert [network.at(t).name for t in range(4)] == ["ring(8)", "exponential(8)"] * 2
    assert repr(network).startswith("mine: 8 nodes, period 2, degrees 2 to 3, λ = ")


def test_rounds_may_be_disconnected_matrices():
    network = gs.time_varying([PAIRS, OTHER_PAIRS])
    assert network.lam == 0
    assert network.at(0).in_neighbors(2) == [3]
    assert network == gs.time_varying([network])


def test_equality_needs_the_same_rounds_in_the_same_order():
    assert gs.time_varying([PAIRS, OTHER_PAIRS]) != gs.time_varying([OTHER_PAIRS, PAIRS])
    assert gs.time_varying([gs.ring(8)]) == gs.ring(8)


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ([], "at least one network"),
        ([gs.ring(4), gs.ring(5)], r"networks of \[4, 5\] nodes, need the same"),
        ([PAIRS, PAIRS], "falls into 2 parts"),
        ([torch.eye(4).roll(1, 0), torch.eye(4)], "connected but λ = 1"),
        ([gs.ring(2), [[0.5, 0.6], [0.5, 0.4]]], "row sums in"),
    ],
)
def test_refusals(rounds, message: str):
    with pytest.raises(InvalidInput, match=message):
        gs.time_varying(rounds)
