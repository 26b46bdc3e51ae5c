"""Networks that talk now and then."""

import pytest
import torch

import gossamer as gs

Z = torch.randn(8, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("inner", [gs.ring(8), gs.one_peer_exponential(8)], ids=lambda n: n.name)
def test_talk_number_s_is_round_s_and_between_nothing_is_mixed(inner: gs.Network):
    seldom = inner.every(3).channel([0, 0], torch.float64, "cpu")
    often = inner.channel([0, 0], torch.float64, "cpu")
    for t in range(12):
        mixed = seldom.talk(t, ()).pull(Z)
        expected = often.talk(t // 3, ()).pull(Z) if t % 3 == 2 else Z
        assert torch.equal(mixed, expected)


def test_what_links_remember_outlives_the_silence():
    channel = gs.ring(8).compressed(gs.TopK(0.4)).every(3).channel([0, 0], torch.float64, "cpu")
    memory = ()
    for t in range(9):
        talk = channel.talk(t, memory)
        talk.push(Z + t)
        after = talk.memory
        if t % 3 != 2:
            assert after is memory
        memory = after


def test_lambda_is_that_of_k_steps():
    assert gs.ring(8).every(5).lam ** 5 == pytest.approx(gs.ring(8).lam, abs=1e-12)
    lossy = gs.ring(8).drops(0.2, both_ways=True)
    assert lossy.every(5).lam ** 5 == pytest.approx(lossy.lam, abs=1e-12)
    assert lossy.every(5).speed.endswith("in mean square")
    with pytest.raises(gs.InvalidInput, match="not doubly stochastic"):
        _ = gs.random_digraph(8, degree=3).every(5).lam
