"""What would lead to the wrong point is refused, with the way out."""

import pytest
from networks.digraphs import perron_digraph

import gossamer as gs
from gossamer.fit import fits, require_fit

ONE_WAY = gs.from_digraph(perron_digraph(6))


@pytest.mark.parametrize("network", [ONE_WAY, ONE_WAY.drops(0.1).every(2)], ids=str)
def test_a_method_that_only_pulls_is_refused_on_an_unbalanced_network(network: gs.Network):
    with pytest.raises(gs.InvalidInput, match=r"no doubly stochastic weights.*use PushSum\(DSGD\)"):
        gs.simulate(gs.DSGD(lr=0.1), gs.Quadratic(6, 2), network, steps=1)
    assert not fits(gs.DSGD(lr=0.1), network)
    assert fits(gs.DIGing(lr=0.1), network)


@pytest.mark.parametrize("method", [gs.GTDSGD(lr=0.1), gs.PushSum(gs.DSGD(lr=0.1))], ids=str)
def test_a_method_that_pushes_runs_there(method: gs.Algorithm):
    require_fit(method, ONE_WAY)
    require_fit(method, ONE_WAY.drops(0.1))
    require_fit(method, ONE_WAY.compressed(gs.TopK(0.1)))


def test_push_sum_does_not_chase_losses_with_compressed_copies():
    method, losses = gs.PushSum(gs.DSGD(lr=0.1)), gs.ring(6).drops(0.1)
    with pytest.raises(gs.InvalidInput, match="compressed copies lag behind"):
        require_fit(method, losses.compressed(gs.TopK(0.1)).every(2))
    require_fit(method, losses)
    require_fit(method, gs.ring(6).drops(0.1, both_ways=True).compressed(gs.TopK(0.1)))
    require_fit(gs.GTDSGD(lr=0.1), losses.compressed(gs.TopK(0.1)))


@pytest.mark.parametrize("method", [gs.EXTRA(lr=0.1), gs.ExactDiffusion(lr=0.1)], ids=str)
@pytest.mark.parametrize(
    "network",
    [ONE_WAY, gs.exponential(6), gs.one_peer_exponential(6), gs.ring(6).drops(0.1)],
    ids=str,
)
def test_corrections_need_symmetric_rounds(method: gs.Algorithm, network: gs.Network):
    for one in (method, gs.PushSum(method)):
        with pytest.raises(gs.InvalidInput, match=r"need W = Wᵀ in every round.*e\.g\. DIGing"):
            require_fit(one, network)
    require_fit(gs.DIGing(lr=0.1), network)


@pytest.mark.parametrize(
    "network",
    [
        gs.ring(6),
        gs.ring(6).drops(0.1, both_ways=True).every(2),
        gs.ring(6).compressed(gs.TopK(0.1)),
        gs.ring(6).accelerated(2),
        gs.random_matching(6),
        gs.time_varying([gs.star(6), gs.ring(6)]),
    ],
    ids=str,
)
def test_corrections_run_where_rounds_are_symmetric(network: gs.Network):
    require_fit(gs.EXTRA(lr=0.1), network)
