import pytest
import torch
from torch.utils.data import DataLoader

from gossamer.data import BatchOrder, TokenWindows, token_shard
from gossamer.errors import InvalidInput


def test_shards_are_contiguous_and_cover_the_stream():
    tokens = torch.arange(103)
    shards = [token_shard(tokens, node, 8) for node in range(8)]
    assert torch.equal(torch.cat(shards), tokens)
    assert {len(shard) for shard in shards} == {12, 13}


@pytest.mark.parametrize(("length", "context", "stride"), [(20, 4, 1), (21, 4, 3), (5, 4, 9)])
def test_windows_are_all_that_fit(length: int, context: int, stride: int):
    tokens = torch.arange(length)
    windows = TokenWindows(tokens, context, stride)
    starts = [s for s in range(0, length, stride) if s + context + 1 <= length]
    assert len(windows) == len(starts)
    for k, start in enumerate(starts):
        inputs, targets = windows[k]
        assert torch.equal(inputs, tokens[start : start + context])
        assert torch.equal(targets, tokens[start + 1 : start + context + 1])


def test_many_windows_at_once_are_the_windows_one_by_one():
    windows = TokenWindows(torch.randint(9, (50,)), 6, 2)
    index = torch.tensor([[3, 0], [7, 3]])
    inputs, targets = windows[index]
    assert inputs.shape == targets.shape == (2, 2, 6)
    assert torch.equal(inputs[1, 0], windows[7][0])
    assert torch.equal(targets[0, 0], windows[3][1])


def test_an_epoch_sees_every_sample_once():
    order = BatchOrder(size=24, batch_size=6, seed=1, node=2)
    seen = torch.cat([order.at(t) for t in range(4)])
    assert torch.equal(seen.sort().values, torch.arange(24))
    assert not torch.equal(seen, torch.cat([order.at(t) for t in range(4, 8)]))


def test_order_depends_on_seed_and_node_alone():
    size, batch = 100, 10
    first = BatchOrder(size, batch, seed=0, node=0)
    assert torch.equal(first.at(17), BatchOrder(size, batch, seed=0, node=0).at(17))
    for other in (BatchOrder(size, batch, seed=1, node=0), BatchOrder(size, batch, seed=0, node=1)):
        assert not torch.equal(first.at(17), other.at(17))


def test_batches_resume_anywhere():
    order = BatchOrder(size=11, batch_size=3, seed=5, node=0)
    whole = [batch.tolist() for batch in order.batches(0, 10)]
    assert whole == [order.at(t).tolist() for t in range(10)]
    assert [batch.tolist() for batch in order.batches(4, 10)] == whole[4:]


def test_drives_a_loader():
    windows = TokenWindows(torch.arange(40), 4, 2)
    order = BatchOrder(len(windows), 5, seed=0, node=0)
    loader = DataLoader(windows, batch_sampler=list(order.batches(0, 6)))
    for t, (inputs, _) in enumerate(loader):
        assert torch.equal(inputs, windows[order.at(t)][0])


@pytest.mark.parametrize("batch_size", [0, 8, 4.0])
def test_what_is_no_size_of_a_batch_is_refused(batch_size: int):
    with pytest.raises(InvalidInput, match=r"batch_size: got .* samples of node 3"):
        BatchOrder(size=7, batch_size=batch_size, seed=0, node=3)


def test_stream_shorter_than_a_window_is_refused():
    with pytest.raises(InvalidInput, match="tokens: got 4 tokens, need more than context = 4"):
        TokenWindows(torch.arange(4), 4, 1)


def test_unknown_node_is_refused():
    with pytest.raises(InvalidInput, match="node"):
        token_shard(torch.arange(4), 2, 2)


def test_windows_are_counted_from_the_end_as_in_a_list():
    windows = TokenWindows(torch.arange(10), context=4, stride=2)
    for k in (1, 2, 3):
        assert torch.equal(windows[-k][0], windows[3 - k][0])
    for outside in (3, -4):
        with pytest.raises(IndexError):
            windows[outside]


def test_orders_of_fractions_and_steps_before_the_first_are_refused():
    for sizes in ((7, 2.5), (7.5, 2), (0, 1)):
        with pytest.raises(InvalidInput, match=r"need an integer (of at least 1|in \[1, 7\])"):
            BatchOrder(*sizes, seed=0, node=0)
    with pytest.raises(InvalidInput, match="t: got -1"):
        BatchOrder(7, 2, seed=0, node=0).at(-1)
