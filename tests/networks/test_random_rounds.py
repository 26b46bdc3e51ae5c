"""Networks drawn anew in every round."""

import pytest
import torch
from networks.monte_carlo import mean_square, rounds

import gossamer as gs
from gossamer.networks import RandomRounds

NETWORKS = [
    gs.random_matching(8),
    gs.random_matching(9),
    gs.random_matching(2),
    gs.erdos_renyi_each_round(8, 0.2),
    gs.erdos_renyi_each_round(9, 1.0),
]
every_network = pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)


@every_network
def test_every_round_is_symmetric_and_doubly_stochastic(network: gs.Network):
    n = network.num_nodes
    for t in (0, 1, 31, 32, 10**6):
        W = rounds(network, [0, 1, 2**70], t)
        torch.testing.assert_close(W, W.mT, rtol=0, atol=1e-15)
        torch.testing.assert_close(W.sum(-1), torch.ones(3, n).double(), rtol=0, atol=1e-14)
        assert (W >= 0).all()


@every_network
def test_lambda_in_mean_square(network: gs.Network):
    """That of `erdos_renyi_each_round` is itself a mean over 2,000 draws."""
    norm, band = mean_square(network, draws=4000)
    assert abs(network.lam**2 - norm) < (1 + 2**0.5) * band + 1e-14


@pytest.mark.parametrize("n", [8, 9])
def test_a_matching_leaves_out_one_node_at_most_and_everybody_meets_everybody(n: int):
    W = rounds(gs.random_matching(n), range(4000), t=3)
    alone = (W.diagonal(dim1=1, dim2=2) == 1).sum(1)
    assert (alone == n % 2).all()
    met = (W > 0).double().mean(0).fill_diagonal_(0)[~torch.eye(n, dtype=torch.bool)]
    chance = (n // 2) / (n * (n - 1) / 2)
    assert (met - chance).abs().max() < 4.5 * (chance * (1 - chance) / 4000) ** 0.5


def test_each_pair_is_linked_with_its_probability():
    W = rounds(gs.erdos_renyi_each_round(9, 0.3), range(4000), t=3)
    linked = (W > 0).double().mean(0)[~torch.eye(9, dtype=torch.bool)]
    assert (linked - 0.3).abs().max() < 4.5 * (0.3 * 0.7 / 4000) ** 0.5


@every_network
def test_several_rounds_at_once_are_the_same_rounds(network):
    at_once = network.matrices(torch.tensor([5, 1000]), [0, 7])
    for place, t in enumerate((5, 1000)):
        assert torch.equal(at_once[place], network.matrices(torch.tensor([t]), [0, 7])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seeds", [[4], [4, 2**70, 4, 4]])
@pytest.mark.parametrize("network", [gs.random_matching(301), gs.erdos_renyi_each_round(301, 0.01)])
def test_many_nodes_are_mixed_with_the_same_matrices(
    network: RandomRounds, seeds: list[int], dtype: torch.dtype
):
    """From 256 nodes on products are sparse."""
    channel = network.channel(seeds, dtype, "cpu")
    z = torch.randn(network.n, len(seeds), 3, dtype=dtype)
    for t in (0, 40):
        W = network.matrices(torch.tensor([t]), seeds)[0]
        expected = torch.einsum("sij,jsd->isd", W, z.double())
        close = {"rtol": 0, "atol": 1e-12 if dtype == torch.float64 else 1e-5}
        talk = channel.talk(t, ())
        torch.testing.assert_close(talk.pull(z).double(), expected, **close)
        torch.testing.assert_close(talk.push(z.double()), expected, **close)


def test_matchings_take_no_more_than_their_links():
    """A matrix of 100,000 nodes would take 80 GB."""
    network = gs.random_matching(100_000)
    talk = network.channel([0], torch.float32, "cpu").talk(0, ())
    node = torch.arange(100_000, dtype=torch.float32)[:, None, None]
    pulled = talk.pull(node)
    assert torch.equal(pulled.sort(dim=0).values[0::2], pulled.sort(dim=0).values[1::2])
    assert abs(network.lam - 0.5**0.5) < 1e-5
    assert (network.num_nodes, network.balanced, network.every(2).symmetric) == (10**5, True, True)


def test_lambda_of_many_nodes_is_a_mean_over_fewer_draws():
    network = gs.erdos_renyi_each_round(400, 0.02)
    assert network.draws == 100
    norms = network.matrices(torch.tensor([0]), range(100)).square().sum((0, 2, 3))
    assert abs(network.lam**2 - (float(norms.mean()) - 1) / 399) < 1e-12


def test_odd_requests_are_refused():
    with pytest.raises(gs.InvalidInput, match="n: got 1"):
        gs.random_matching(1)
    with pytest.raises(gs.InvalidInput, match="probability: got 0"):
        gs.erdos_renyi_each_round(5, 0)
