"""A point's copy in another precision."""

import torch

from gossamer.twin import Twin


def made() -> Twin:
    return Twin(torch.zeros(4, 3, dtype=torch.bfloat16))


def test_a_copy_that_was_written_with_its_point_is_not_made_again():
    twin, x = made(), torch.randn(2, 2, 3)
    twin.of = x
    assert torch.equal(twin.follow(x.flatten(0, 1)), torch.zeros(4, 3).bfloat16())


def test_the_copy_of_another_point_is_made_and_forgets_the_first():
    twin, x, other = made(), torch.randn(2, 2, 3), torch.randn(4, 3)
    twin.of = x
    assert torch.equal(twin.follow(other), other.bfloat16())
    assert torch.equal(twin.follow(x), x.view(4, 3).bfloat16())


def test_a_point_that_was_changed_in_place_is_another_one():
    twin, x = made(), torch.randn(4, 3)
    twin.of = x
    x += 1
    assert torch.equal(twin.follow(x), x.bfloat16())
