"""The samples of all nodes at once."""

import pytest
import torch

import gossamer as gs
from gossamer.data import BatchOrder
from gossamer.data.pairs import TensorPairs
from gossamer.problems.batches import NodeBatches, NodeOrders, joined


def test_the_samples_of_all_nodes_are_read_at_once_where_they_are_alike():
    sizes = (7, 9, 8)
    alike = [TensorPairs(torch.randn(m, 3), torch.randint(5, (m,))) for m in sizes]
    batches = NodeBatches(alike, 2)
    expected = batches.at(3, [0, 5])
    batches._join()
    assert batches._joined is not None
    assert all(map(torch.equal, batches.at(3, [0, 5]), expected))
    assert [len(data) for data in batches.datasets] == list(sizes)
    other = TensorPairs(torch.randn(7, 2), torch.randint(5, (7,)))
    assert joined([*alike, other]) is None


@pytest.mark.parametrize("sizes", [(8, 8, 8), (9, 4, 8, 5, 20)], ids=["alike", "different"])
@pytest.mark.parametrize("seeds", [[3], [3, 5], [5, 3, 3]], ids=str)
def test_every_node_and_run_has_its_own_order(sizes: tuple[int, ...], seeds: list[int]):
    orders = NodeOrders(sizes, batch_size=4)
    for t in (0, 1, 2, 7, 3):
        index = orders.indices(t, seeds)
        assert index.shape == (len(sizes), len(seeds), 4)
        for node, size in enumerate(sizes):
            for run, seed in enumerate(seeds):
                assert torch.equal(index[node, run], BatchOrder(size, 4, seed, node).at(t))


def test_the_node_with_the_fewest_samples_limits_the_batches():
    assert NodeOrders((9, 4, 8), batch_size=4).steps_per_epoch == 1
    with pytest.raises(gs.InvalidInput, match=r"got 8, need an integer in \[1, 3\], .* of node 1"):
        NodeOrders((7, 3, 20), batch_size=8)


def test_nodes_that_are_alike_are_looked_up_together(monkeypatch: pytest.MonkeyPatch):
    """One by one, 10,000 nodes took longer than all else of a step."""
    orders, asked = NodeOrders([40] * 50, batch_size=4), []
    rows = orders._rows
    monkeypatch.setattr(orders, "_rows", lambda *which: asked.append(which) or rows(*which))
    assert orders.indices(9, [0, 1]).shape == (50, 2, 4)
    assert len(asked) == 1
