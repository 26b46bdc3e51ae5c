"""Every node draws its own share, and goes on where it stopped."""

import pytest
import torch

from gossamer.distributed import MinibatchSampler
from gossamer.errors import InvalidInput


def test_shards_partition_the_data_in_every_epoch():
    samplers = [MinibatchSampler(60, 5, num_nodes=4, node=node) for node in range(4)]
    for _ in range(2):
        drawn = torch.cat([next(sampler) for sampler in samplers for _ in range(3)])
        assert drawn.sort().values.tolist() == list(range(60))


def test_epochs_nodes_and_seeds_differ():
    epochs = MinibatchSampler(40, 40, num_nodes=1, node=0)
    assert not torch.equal(next(epochs), next(epochs))
    seeds = [next(MinibatchSampler(40, 40, num_nodes=1, node=0, seed=seed)) for seed in (0, 1)]
    assert not torch.equal(*seeds)
    first, second = (next(MinibatchSampler(80, 40, num_nodes=2, node=node)) for node in (0, 1))
    assert not torch.equal(first, second - 40)


def test_a_resumed_sampler_draws_the_same_batches():
    whole, resumed = (MinibatchSampler(50, 7, num_nodes=2, node=1) for _ in range(2))
    for _ in range(5):
        next(whole)
    resumed.load_state_dict(whole.state_dict())
    assert all(torch.equal(next(whole), next(resumed)) for _ in range(10))


def test_a_batch_larger_than_the_shard_is_refused():
    with pytest.raises(InvalidInput, match=r"batch_size: got 20, need an integer in \[1, 10\]"):
        MinibatchSampler(40, 20, num_nodes=4, node=0)


def test_a_node_that_is_not_there_is_refused():
    with pytest.raises(InvalidInput, match=r"node: got 4, need an integer in \[0, 3\]"):
        MinibatchSampler(40, 2, num_nodes=4, node=4)
