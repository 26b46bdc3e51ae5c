"""Runs between two pieces of work are put beside each other, and copied only where they must be."""

import pytest
import torch

from gossamer.simulation.checkpoint import Checkpoint
from gossamer.simulation.leg import Leg, restacked


def leg(*ids: int, t: int = 4) -> Leg:
    """Runs whose parameters are their numbers."""
    numbers = torch.tensor(ids)
    x = numbers[None, :, None].double()
    return Leg(numbers, Checkpoint(t, x, (), (), dict.fromkeys(ids, numbers)))


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9])
def test_runs_stay_in_order_and_few_only_at_the_end(width: int):
    legs = [leg(3, 1, 4), leg(), leg(0), leg(5, 9, 2)]
    stacks = list(restacked(legs, width))
    assert [id for one in stacks for id in one.ids.tolist()] == [3, 1, 4, 0, 5, 9, 2]
    assert all(len(one.ids) == width for one in stacks[:-1])
    for one in stacks:
        assert one.begin is not None
        assert one.begin.x[0, :, 0].tolist() == one.ids.tolist()


def test_only_runs_at_the_same_step_are_beside_each_other():
    start = Leg(torch.tensor([7, 8]), None)
    stacks = list(restacked([leg(1), start, leg(2, t=9), leg(3, 4)], 2))
    found = {(one.t, *one.ids.tolist()) for one in stacks}
    assert found == {(0, 7, 8), (4, 1, 3), (4, 4), (9, 2)}


def test_what_fits_is_not_copied():
    legs = [leg(0), leg(1), leg(2, 3)]
    for width, same in (1, legs[:2]), (2, legs[2:]):
        places = {one.begin.x.data_ptr() for one in restacked(legs, width) if one.begin}
        assert {one.begin.x.data_ptr() for one in same if one.begin} <= places
