"""Which samples are chosen to try a module on."""

import torch

from gossamer.data import TokenWindows
from gossamer.data.pairs import as_pairs
from gossamer.problems.telling_samples import MOST, classes, extremes, spread


def nodes(*targets: list):
    """Nodes whose inputs are zeros."""
    return [as_pairs((torch.zeros(len(own), 2), torch.tensor(own))) for own in targets]


SORTED = nodes([0, 0, 0], [0, 1], [1], [1, 1, 2])
WINDOWS = [TokenWindows(torch.arange(9), 3, 1)]


def test_evenly_spaced_samples_of_evenly_spaced_nodes():
    every = [(k, row) for k, size in enumerate((3, 2, 1, 3)) for row in range(size)]
    assert spread(SORTED) == every
    assert len(spread(nodes(list(range(5000))))) == len(spread(nodes(*[[0] * 9] * 100))) == MOST
    assert {k for k, _ in spread(SORTED * 100)} >= {0, 399}
    assert spread(WINDOWS) == [(0, row) for row in range(6)]


def test_one_sample_of_each_class():
    found = classes(SORTED)
    assert [int(SORTED[k].targets[row]) for k, row in found] == [0, 1, 2]
    many = classes(nodes(list(range(100))))
    assert len(many) == MOST
    assert {(0, 0), (0, 99)} <= set(many)
    assert classes(nodes([0.5, 1.5])) == classes(WINDOWS) == []


def test_the_smallest_and_the_largest_integers():
    assert extremes(nodes([1, 2], [5, 0], [3])) == [(1, 1), (1, 0)]
    assert extremes(nodes([[1, 2], [0, 3]], [[9, 1], [1, 2]])) == [(0, 1), (1, 0)]
    assert extremes(nodes([0.5, 1.5])) == extremes(WINDOWS) == []
    tokens = as_pairs((torch.tensor([[7, 7], [8, 1]]), torch.zeros(2)))
    assert extremes([tokens]) == [(0, 1), (0, 1)]
    assert extremes(nodes([True, False])) == [(0, 1), (0, 0)]
