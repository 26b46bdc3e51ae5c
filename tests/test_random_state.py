"""Global random numbers that a block has for itself."""

import random

import numpy as np
import pytest
import torch

from gossamer.random_state import kept, seeded, torch_seeded

SEEDS = (0, 5, 2**63 - 1)


def draw() -> tuple[float, float, float]:
    """One number of each library."""
    return random.random(), np.random.random(), torch.rand(()).item()


def test_what_a_block_seeds_and_draws_leaves_the_numbers_after_it():
    with kept():
        expected = draw()
    with kept():
        random.seed(1)
        np.random.seed(1)
        torch.manual_seed(1)
        draw()
    assert draw() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_numbers_of_every_library(seed: int):
    with seeded(seed):
        first = draw()
    with seeded(seed):
        again = draw()
    with seeded(seed + 1 if seed < 2**63 - 1 else 0):
        other = draw()
    assert again == first
    assert not set(other) & set(first)


def test_torch_alone_may_be_seeded_with_the_same_numbers():
    with kept():
        after = torch.rand(())
    with seeded(3):
        expected = torch.rand(())
    with torch_seeded(3):
        assert torch.equal(torch.rand(()), expected)
    assert torch.equal(torch.rand(()), after)


@pytest.mark.parametrize("block", [kept, lambda: seeded(3)], ids=["kept", "seeded"])
def test_an_error_in_a_block_leaves_the_numbers_after_it(block):
    with kept():
        expected = draw()
    with pytest.raises(ZeroDivisionError), block():
        draw()[0] / 0
    assert draw() == expected
