"""Networks that lose messages: what their rounds are, and how fast they average."""

import itertools
import math
from typing import Any

import pytest
import torch
from networks.any_network import digraph
from networks.monte_carlo import mean_square, rounds

import gossamer as gs
from gossamer.networks import spectrum
from gossamer.networks.drops import Drops, LossyChannel
from gossamer.networks.sparse import SparseMatrix

LINKS_CHANGE = gs.time_varying([gs.ring(6), gs.star(6)])


@pytest.mark.parametrize("network", [gs.ring(6), gs.star(6), LINKS_CHANGE], ids=lambda n: n.name)
@pytest.mark.parametrize("burst", [None, 4])
def test_links_that_fail_both_ways_leave_rounds_doubly_stochastic(network: gs.Network, burst):
    """Each W_t is symmetric, with the weights of the round on the links that live."""
    lossy = network.drops(0.3, both_ways=True, burst=burst)
    for t in range(40):
        W, whole = rounds(lossy, [0, 1], t), network.at(t).weights
        torch.testing.assert_close(W, W.mT, rtol=0, atol=1e-15)
        torch.testing.assert_close(W.sum(-1), torch.ones(2, 6).double(), rtol=0, atol=1e-14)
        links = W - torch.diag_embed(W.diagonal(dim1=1, dim2=2))
        assert ((links == 0) | (links == whole)).all()


def test_opinions_that_are_lost_one_way_are_replaced_by_ones_own():
    network = digraph()
    R = network.weights
    for t in range(40):
        W = rounds(network.drops(0.3), [0, 1], t)
        torch.testing.assert_close(W.sum(-1), torch.ones(2, 10).double(), rtol=0, atol=1e-14)
        links = W - torch.diag_embed(W.diagonal(dim1=1, dim2=2))
        assert ((links == 0) | (links == R)).all()
        assert (W.diagonal(dim1=1, dim2=2) >= R.diagonal() - 1e-15).all()


def test_a_link_that_is_not_there_brings_nothing():
    """On links that change, what is in flight waits for a round with its link."""
    star, ring = gs.star(6), gs.ring(6)
    lossy = gs.time_varying([star, ring]).drops(0.9)
    channel, memory = lossy.channel([0], torch.float64, "cpu"), ()
    z = torch.eye(6, dtype=torch.float64)[:, None]
    for t in range(30):
        talk = channel.talk(t, memory)
        y = talk.push(z)
        links = (ring if t % 2 else star).weights > 0
        assert (y[:, 0][~links] == 0).all()
        memory = talk.memory


@pytest.mark.parametrize(
    "network", [gs.ring(8), gs.star(8), gs.erdos_renyi(8, 0.5, seed=1)], ids=lambda n: n.name
)
@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_lambda_in_mean_square(network: gs.Network, probability: float):
    lossy = network.drops(probability, both_ways=True)
    norm, band = mean_square(lossy, draws=4000)
    assert abs(lossy.lam**2 - norm) < band
    assert lossy.lam > network.lam
    assert "in mean square" in repr(lossy)


def exact_mean_square(rounds: list[gs.Network], p: float) -> torch.Tensor:
    """E[W₀ᵀ … W₀] over every set of links that may be lost, of dense matrices."""
    M = torch.eye(rounds[0].num_nodes, dtype=torch.float64)
    for one in reversed(rounds):
        links, W = list(zip(*one.weights.triu(1).nonzero(as_tuple=True), strict=True)), one.weights
        total = torch.zeros_like(M)
        for lost in itertools.product([False, True], repeat=len(links)):
            drawn, chance = W.clone(), math.prod(p if gone else 1 - p for gone in lost)
            for (i, j), gone in zip(links, lost, strict=True):
                if gone:
                    drawn[[i, j], [i, j]] += W[i, j]
                    drawn[[i, j], [j, i]] = 0.0
            total += chance * drawn @ M @ drawn
        M = total
    return M - 1 / len(M)


@pytest.mark.parametrize("rounds", [["ring"], ["ring", "star"], ["star", "ring", "line"]], ids=str)
def test_lambda_is_that_of_the_exact_mean_square(rounds: list[str]):
    networks = [getattr(gs, name)(5) for name in rounds]
    network = networks[0] if len(networks) == 1 else gs.time_varying(networks)
    norm = torch.linalg.matrix_norm(exact_mean_square(networks, 0.3), ord=2)
    found = network.drops(0.3, both_ways=True).lam
    assert found == pytest.approx(float(norm) ** (0.5 / len(rounds)), abs=1e-12)


def test_lambda_without_loss_and_one_way():
    assert gs.ring(8).drops(0.0).lam == gs.ring(8).lam
    with pytest.raises(gs.InvalidInput, match="has none, since when a message is lost"):
        _ = gs.ring(8).drops(0.1).lam


def test_the_coins_of_a_link_are_those_of_its_ends():
    """Two directions die together where they fail both ways, and alone where they do not."""
    for both_ways in (True, False):
        lossy = gs.ring(6).drops(0.5, both_ways=both_ways)
        assert isinstance(lossy, Drops)
        edges, losses = lossy.edges, lossy.losses(range(5))
        back = [
            int(((edges.sender == i) & (edges.receiver == j)).nonzero())
            for i, j in zip(edges.receiver, edges.sender, strict=True)
        ]
        same = [torch.equal(losses.arrive(t), losses.arrive(t)[:, back]) for t in range(20)]
        assert all(same) if both_ways else not any(same)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("seeds", [[0], [0, 1], [1, 0, 1]], ids=str)
def test_losses_and_compression_in_every_precision(dtype, both_ways, seeds):
    network = gs.ring(4).drops(0.3, both_ways=both_ways).compressed(gs.TopK(0.5))
    method, problem = gs.GTDSGD(lr=0.05), gs.Quadratic(4, 3)
    run, exact = (
        gs.simulate(method, problem, network, steps=40, seeds=seeds, dtype=kind)
        for kind in (dtype, torch.float64)
    )
    tolerance = 100 * torch.finfo(dtype).eps
    torch.testing.assert_close(run.x.double(), exact.x, rtol=0, atol=tolerance)


def test_one_node_loses_nothing():
    network = gs.complete(1).drops(0.5)
    run = gs.simulate(gs.GTDSGD(lr=0.1), gs.Quadratic(1, 2), network, steps=4, seeds=[0, 3])
    alone = gs.simulate(gs.GTDSGD(lr=0.1), gs.Quadratic(1, 2), gs.complete(1), steps=4)
    torch.testing.assert_close(run.x[:, :1], alone.x, rtol=1e-12, atol=1e-12)


def test_lam_of_rounds_that_do_not_commute():
    """Without losses it is the plain network's; with them, that of the channel's own rounds."""
    pairs = [[(0, 1, 0.5), (2, 3, 0.5), (4, 5, 0.5)], [(1, 2, 0.5), (3, 4, 0.5)]]
    network = gs.time_varying([_linked(6, links) for links in pairs])
    assert network.drops(1e-12, both_ways=True).lam == pytest.approx(network.lam, abs=1e-9)
    lossy, draws = network.drops(0.2, both_ways=True), range(4000)
    channel = lossy.channel(draws, torch.float64, "cpu")
    z = torch.eye(6, dtype=torch.float64)[:, None].expand(6, len(draws), 6).contiguous() - 1 / 6
    for t in range(2):
        z = channel.talk(t, ()).pull(z)
    moment = torch.einsum("irk,irl->kl", z, z) / len(draws)
    measured = float(torch.linalg.matrix_norm(moment, ord=2)) ** (1 / 4)
    assert lossy.lam == pytest.approx(measured, abs=0.005)


def _linked(n: int, links: list[tuple[int, int, float]]) -> torch.Tensor:
    W = torch.eye(n, dtype=torch.float64)
    for i, j, weight in links:
        W[i, i] -= weight
        W[j, j] -= weight
        W[i, j] += weight
        W[j, i] += weight
    return W


@pytest.mark.parametrize("burst", [None, 4])
def test_messages_per_link_where_losses_are_sent_again(burst: float | None):
    """Links are independent and alike: the mean over 40 of them, in 5 standard errors."""
    lossy = gs.ring(20).drops(0.3, burst=burst)
    assert isinstance(lossy, Drops)
    channel = lossy.channel(range(50), torch.float64, "cpu")
    assert isinstance(channel, LossyChannel)
    per_run = channel.messages(range(100, 300))[0].double().sum(1).mean(0) / 40
    standard_error = float(per_run.std()) / 50**0.5
    assert abs(float(per_run.mean()) - lossy.messages_per_link) < 5 * standard_error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probability": "10%"}, r"probability: got '10%', need a number in \[0, 1\); 0.1 loses"),
        ({"probability": 0.1, "burst": "x"}, r"burst: got 'x', need a number in \[1.11111, ∞\)"),
    ],
)
def test_words_for_numbers_are_refused(arguments: dict[str, Any], message: str):
    with pytest.raises(gs.InvalidInput, match=message):
        gs.ring(20).drops(**arguments)


def test_a_hub_takes_no_memory_for_every_pair_of_nodes(monkeypatch: pytest.MonkeyPatch):
    """W² has n² entries where one node is linked to all others."""
    lossy = [gs.star(n).drops(0.1, both_ways=True) for n in (80, 80, 10_000)]
    dense = lossy[0].lam
    monkeypatch.setattr(spectrum, "DENSE_LIMIT", 10)
    monkeypatch.setattr(SparseMatrix, "times", None)
    assert lossy[1].lam == pytest.approx(dense, abs=1e-12)
    assert 0.9999 < lossy[2].lam < 1
