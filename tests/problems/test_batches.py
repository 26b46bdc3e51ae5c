"""The samples of all nodes at once."""

import torch

from gossamer.data.pairs import TensorPairs
from gossamer.problems.batches import NodeBatches, joined


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
