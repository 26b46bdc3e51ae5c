"""Splits are what they say: disjoint, complete, in the stated proportions, the same for a seed."""

import re
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from gossamer.data import Dataset, Split, by_label, dirichlet, iid, shards, sizes
from gossamer.errors import InvalidInput

LABELS = torch.arange(1000) % 10
SPLITS = [iid(), sizes([1, 2, 3, 4, 5, 6, 7]), dirichlet(1.0), by_label(3), shards(2)]
every_split = pytest.mark.parametrize("split", SPLITS, ids=repr)


def counts(parts: list[Tensor], labels: Tensor = LABELS) -> np.ndarray:
    """How many samples of each class every node holds, `(nodes, classes)`."""
    classes = int(labels.max()) + 1
    return np.stack([torch.bincount(labels[part], minlength=classes).numpy() for part in parts])


@every_split
def test_parts_are_disjoint_cover_everything_and_ascend(split: Split):
    parts = split(LABELS, 7)
    assert torch.equal(torch.cat(parts).sort().values, torch.arange(1000))
    assert all(len(part) > 0 and bool((part.diff() > 0).all()) for part in parts)


@every_split
def test_a_seed_decides(split: Split):
    first, again, other = (split(LABELS, 7, seed) for seed in (3, 3, 4))
    assert all(map(torch.equal, first, again))
    assert not all(map(torch.equal, first, other))


@every_split
def test_labels_may_be_arrays_lists_or_datasets_of_either_name(split: Split):
    expected = split(LABELS, 7)
    data = Dataset("mine", torch.zeros(1000, 1), LABELS)
    for labels in (
        LABELS.numpy(), LABELS.tolist(), data, SimpleNamespace(targets=LABELS.tolist())
    ):  # fmt: skip
        assert all(map(torch.equal, split(labels, 7), expected))


def test_iid_sizes_differ_by_one_and_classes_are_hypergeometric():
    """A node draws 500 of 1,000: of a class of 100 it gets 50, with variance 50 · 0.9 · 500/999."""
    assert sorted(map(len, iid()(LABELS, 7))) == [142, 143, 143, 143, 143, 143, 143]
    held = np.stack([counts(iid()(LABELS, 2, seed)) for seed in range(100)])
    squares = (held[:, 0] - 50) ** 2 / (50 * 0.9 * 500 / 999)  # of ten classes: (10/9) χ²₉
    assert abs(squares.mean() - 1) < 4 * np.sqrt(2 * (10 / 9) / squares.size)


def test_sizes_are_in_proportion():
    assert [len(part) for part in sizes([1, 2, 3, 4])(LABELS, 4)] == [100, 200, 300, 400]
    assert [len(part) for part in sizes([7, 990, 3])(LABELS, 3)] == [7, 990, 3]
    assert [len(part) for part in sizes([0.3, 0.3, 0.4])(LABELS, 3)] == [300, 300, 400]


@pytest.mark.parametrize("alpha", [0.5, 5.0])
def test_dirichlet_shares_have_their_second_moment(alpha: float):
    """Σ_i p_i² has mean (α+1)/(nα+1) for p ~ Dirichlet(α, …, α) on n nodes; rounding is below 1 %.

    With 10 classes a node is never empty here, so that no draw is repeated and the law is exact.
    """
    labels = torch.arange(20_000) % 10
    n, sums = 5, []
    for seed in range(60):
        share = counts(dirichlet(alpha)(labels, n, seed), labels) / 2000
        sums.extend((share**2).sum(0))
    expected, error = (alpha + 1) / (n * alpha + 1), np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - expected) < 4 * error
    assert error < 0.02 * expected


def test_dirichlet_leaves_no_node_empty_or_refuses():
    parts = dirichlet(0.1)(LABELS, 20)
    assert min(map(len, parts)) > 0
    with pytest.raises(InvalidInput, match=r"alpha: got 0.01, which left a node without samples"):
        dirichlet(0.01)(LABELS % 2, 40)


@pytest.mark.parametrize(("per_node", "nodes"), [(1, 10), (1, 30), (2, 7), (3, 5), (10, 4)])
def test_by_label_gives_exactly_as_many_classes_and_shares_them_fairly(per_node: int, nodes: int):
    held = counts(by_label(per_node)(LABELS, nodes))
    assert ((held > 0).sum(1) == per_node).all()
    holders = (held > 0).sum(0)
    assert holders.max() - holders.min() <= 1
    for own in held.T:
        present = own[own > 0]
        assert present.max() - present.min() <= 1


def test_shards_are_runs_of_the_sorted_labels():
    parts = shards(2)(LABELS, 5)
    held = counts(parts)
    assert (held.sum(1) == 200).all()
    assert set(held.flatten()) <= {0, 100, 200}, "a shard of 100 is a class of 100"
    assert (held.sum(0) == 100).all()
    assert {len(part) for part in shards(3)(LABELS, 7)} <= {141, 142, 143, 144}, "47 or 48 each"


def test_real_labels_have_no_classes_but_can_be_dealt_out():
    real = torch.linspace(0, 1, 50)
    assert [len(part) for part in iid()(real, 5)] == [10] * 5
    for split in (dirichlet(1.0), by_label(1)):
        with pytest.raises(
            InvalidInput, match=r"labels: got float32 labels, need classes; gs\.data"
        ):
            split(real, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iid()(LABELS, 1001), "num_nodes: got 1001, need at most one node per sample"),
        (lambda: iid()(LABELS, 0), "num_nodes: got 0, need an integer of at least 1"),
        (lambda: iid()(torch.zeros(3, 3), 2), "data: got Tensor of shape (3, 3), need labels"),
        (lambda: dirichlet(0.0), "alpha: got 0.0, need a number in (0, ∞)"),
        (lambda: by_label(1)(LABELS, 5), "got 1 for 10 classes on 5 nodes, need at least 2"),
        (lambda: by_label(11)(LABELS, 5), "at most 10 classes per node"),
        (lambda: by_label(2)(torch.tensor([0, 1, 1, 1]), 3), "a sample of the class for each node"),
        (lambda: shards(300)(LABELS, 5), "per_node: got 300, need at most 200"),
        (lambda: sizes([1, 2])(LABELS, 3), "shares: got 2 numbers, need 3, one per node"),
        (lambda: sizes([1e6, 1])(LABELS, 2), "need shares of at least one sample"),
        (lambda: sizes([1, -2]), "shares: got -2, need a number in (0, ∞)"),
    ],
)  # fmt: skip
def test_refusals(call, message: str):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        call()


def test_by_label_holds_nothing_of_classes_that_a_node_has_not():
    """2,000 nodes × 500 classes would be a million empty arrays."""
    tracemalloc.start()
    try:
        parts = by_label(2)(torch.arange(20_000) % 500, 2_000)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert len(parts) == 2_000
