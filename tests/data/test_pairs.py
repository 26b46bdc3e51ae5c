import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from gossamer.data import TokenWindows
from gossamer.data.pairs import as_pairs
from gossamer.errors import InvalidInput

INPUTS, TARGETS = torch.arange(6.0).view(3, 2), torch.tensor([4, 5, 6])


@pytest.mark.parametrize(
    "dataset",
    [
        (INPUTS, TARGETS),
        [INPUTS, TARGETS],
        (INPUTS.numpy(), TARGETS.numpy()),
        TensorDataset(INPUTS, TARGETS),
        list(zip(INPUTS, TARGETS, strict=True)),
    ],
)
def test_any_form_of_dataset_becomes_pairs(dataset):
    pairs = as_pairs(dataset)
    inputs, targets = pairs[torch.tensor([2, 0])]
    assert len(pairs) == 3
    assert torch.equal(inputs, INPUTS[[2, 0]])
    assert torch.equal(targets, TARGETS[[2, 0]])


def test_windows_are_pairs_already():
    windows = TokenWindows(torch.arange(9), 3, 1)
    assert as_pairs(windows) is windows


def test_moving_keeps_integers():
    inputs, targets = as_pairs((INPUTS, TARGETS)).to("cpu", torch.float64)[torch.tensor([1])]
    assert (inputs.dtype, targets.dtype) == (torch.float64, torch.int64)


def test_moves_as_tensors_do():
    for data in (as_pairs((INPUTS, TARGETS)), TokenWindows(torch.arange(9), 3, 1)):
        assert data.to("meta")[torch.tensor([0], device="meta")][0].device.type == "meta"
        assert data.to(torch.float16)[torch.tensor([0])][1].dtype == torch.int64


def test_shows_its_sizes_and_no_tensors():
    assert repr(as_pairs((INPUTS, TARGETS))) == "TensorPairs(3 × (2,) → ())"
    windows = TokenWindows(torch.arange(9), 3, 1)
    assert repr(windows) == "TokenWindows(6 windows, context=3, stride=1)"


def test_unequal_lengths_are_refused():
    with pytest.raises(InvalidInput, match="3 inputs and 2 targets"):
        as_pairs((INPUTS, TARGETS[:2]))


def test_data_without_targets_is_refused():
    with pytest.raises(InvalidInput, match=r"need \(inputs, targets\)"):
        as_pairs(INPUTS)


def test_no_data_is_refused():
    with pytest.raises(InvalidInput, match="no samples"):
        as_pairs([])


@pytest.mark.parametrize(
    ("dataset", "found"),
    [
        (zip(INPUTS, TARGETS, strict=True), r"got zip, .*; pass list\(dataset\)"),
        (DataLoader(TensorDataset(INPUTS, TARGETS)), r"got DataLoader, .* loader\.dataset"),
        ([(INPUTS[0], 4), (INPUTS[1, :1], 5)], "do not stack"),
        ((INPUTS[0], TARGETS[0]), "do not stack"),
        ((INPUTS.tolist(), TARGETS.tolist()), r"do not stack .*; make tensors of lists"),
        ({"x": INPUTS, "y": TARGETS}, r'got dict, .*; pass its values, e\.g\. \(data\["x"\]'),
        ((INPUTS.to("meta"), TARGETS), "got tensors on the meta device"),
        ((INPUTS.numpy(), np.array(["a", "b", "a"])), "float32 and <U1, need numbers; number the"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(dataset, found):
    with pytest.raises(InvalidInput, match=found):
        as_pairs(dataset)


class Augmented(Dataset):
    """Adds what `draw` gives to every input."""

    def __init__(self, draw: Callable[[], float]):
        self.draw = draw

    def __len__(self) -> int:
        return len(INPUTS)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return INPUTS[index] + self.draw(), TARGETS[index]


def test_samples_that_change_from_read_to_read_are_refused():
    with pytest.raises(InvalidInput, match=r"each time they are read.*; let the module augment"):
        as_pairs(Augmented(random.random))
    for fixed in (1.0, torch.nan):
        assert len(as_pairs(Augmented(partial(float, fixed)))) == 3


@pytest.mark.parametrize(
    "dataset",
    [[], INPUTS, (INPUTS, TARGETS[:2]), (INPUTS[:0], TARGETS[:0]), {}, 3, Augmented(random.random)],
)
def test_data_are_refused_by_the_name_that_they_have(dataset: object):
    with pytest.raises(InvalidInput, match=r"^node_datasets\[3\]: got"):
        as_pairs(dataset, "node_datasets[3]")
