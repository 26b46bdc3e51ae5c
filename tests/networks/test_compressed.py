"""Networks whose messages are compressed: the copies, and what mixing by them keeps."""

import pytest
import torch

import gossamer as gs
from gossamer.networks import COMPRESSORS, Channel, Compressor

NETWORK, DIM, RUNS = gs.ring(6), 12, 2
COMPRESSED = {
    "TopK": gs.TopK(0.25),
    "RandK": gs.RandK(0.25),
    "QSGD": gs.QSGD(4),
    "Sign": gs.Sign(),
    "Cast": gs.Cast("bfloat16"),
}
every_compressor = pytest.mark.parametrize("compressor", COMPRESSED.values(), ids=COMPRESSED)
Z = torch.randn(6, RUNS, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def channel(compressor: Compressor, dtype: torch.dtype = torch.float64) -> Channel:
    return NETWORK.compressed(compressor, gamma=0.5).channel([0, 1], dtype, "cpu")


def test_every_compressor_is_there():
    assert set(COMPRESSED) == set(COMPRESSORS)


@every_compressor
def test_the_first_message_is_whole(compressor: Compressor):
    talk = channel(compressor).talk(0, ())
    mixed = talk.pull(Z)
    expected = Z + 0.5 * (torch.tensordot(NETWORK.weights, Z, 1) - Z)
    torch.testing.assert_close(mixed, expected, rtol=0, atol=1e-14)
    assert torch.equal(talk.memory[0]["copy"], Z)


@every_compressor
def test_copies_come_to_what_does_not_change(compressor: Compressor):
    talks, memory = channel(compressor), ({"copy": torch.zeros_like(Z)},)
    for t in range(1, 400):
        talk = talks.talk(t, memory)
        talk.push(Z)
        memory = talk.memory
    assert (memory[0]["copy"] - Z).abs().max() < 1e-6


@every_compressor
def test_copies_have_the_precision_of_messages(compressor: Compressor):
    """A total in float64 moves a copy in float32, and keeps its digits."""
    talks, memory = channel(compressor, torch.float32), ()
    for t in range(3):
        talk = talks.talk(t, memory)
        y, x = talk.push(Z + t), talk.pull(Z.float() + t)
        memory = talk.memory
    assert (y.dtype, x.dtype) == (torch.float64, torch.float32)
    assert all(site["copy"].dtype == torch.float32 for site in memory)


@every_compressor
def test_the_default_gamma_is_the_compressors(compressor: Compressor):
    usual, given = NETWORK.compressed(compressor), NETWORK.compressed(compressor, gamma=0.3)
    assert usual.gamma_for(DIM) == compressor.gamma(DIM)
    assert 0 < usual.gamma_for(DIM) <= 1
    assert given.gamma_for(DIM) == 0.3
    assert "gamma" not in usual.name
    assert given.name.endswith(", gamma=0.3)")


@pytest.mark.parametrize("compressor", [gs.QSGD(4), gs.Cast("float8_e4m3fn")], ids=repr)
def test_rounding_does_not_grow(compressor: Compressor):
    """Two runs that differ in the last digit stay together: units have few digits."""
    news = gs.StudentT(1.5).sample((300, 6, 1, DIM), generator=torch.Generator().manual_seed(0))
    talks = NETWORK.compressed(compressor).channel([0, 0], torch.float64, "cpu")
    y, memory = Z[:, :1].repeat(1, 2, 1), ()
    y[0, 1, 0] *= 1 + 1e-15
    for t in range(300):
        talk = talks.talk(t, memory)
        y, memory = talk.pull(y + news[t]), talk.memory
    assert (y[:, 0] - y[:, 1]).abs().max() < 1e-11
    assert not torch.equal(y[:, 0], y[:, 1])


def test_there_is_no_lambda():
    with pytest.raises(gs.InvalidInput, match="the speed of averaging with compressed"):
        _ = NETWORK.compressed(gs.TopK(0.1)).lam


def test_a_word_for_gamma_is_refused():
    with pytest.raises(gs.InvalidInput, match="gamma: got 'a', need a number in"):
        NETWORK.compressed(gs.TopK(0.1), gamma="a")  # type: ignore[arg-type]
