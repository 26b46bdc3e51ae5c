"""Two optimizers in one program, e.g. for the two models of a GAN, do not meet."""

import pytest
import torch
from processes import on_ranks
from torch import nn

from gossamer.algorithms import DSGD, GTNSGDm
from gossamer.distributed import DecentralizedOptimizer, company
from gossamer.distributed.lanes import Lanes
from gossamer.distributed.transport import LANES
from gossamer.errors import InvalidInput
from gossamer.networks import ring

STILL = GTNSGDm(lr=0.0, momentum=0.8, order="combine-then-adapt")
LONG = 1 << 15
"""Numbers of a message that goes over a board."""


def two_trainings(rank: int, sizes: tuple[int, int], ahead: tuple[bool, bool]) -> list[float]:
    """With lr = 0, two models keep the value that each has on all ranks."""
    values = [
        nn.Parameter(torch.full((size,), v)) for size, v in zip(sizes, (1.0, -1.0), strict=True)
    ]
    made = [
        DecentralizedOptimizer([p], STILL, ring, overlap=overlap)
        for p, overlap in zip(values, ahead, strict=True)
    ]
    for _ in range(20):
        for p, optimizer in zip(values, made, strict=True):
            p.grad = torch.ones_like(p)
            optimizer.step()
    return [float((p.detach() - v).abs().max()) for p, v in zip(values, (1.0, -1.0), strict=True)]


@pytest.mark.parametrize("ahead", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("sizes", [(8, 8), (4, 8), (LONG, LONG)])
def test_messages_sent_ahead_stay_with_their_optimizer(sizes: tuple[int, int], ahead):
    for errors in on_ranks(two_trainings, sizes, ahead):
        assert max(errors) < 1e-6


def one_more_on_some_ranks(rank: int) -> list[float]:
    """Ranks whose past differs agree on where the messages of the next optimizer go."""
    if rank == 2:
        alone = torch.distributed.new_group([2], use_local_synchronization=True)
        DecentralizedOptimizer([nn.Parameter(torch.ones(1))], DSGD(0.1), ring, process_group=alone)
    return two_trainings(rank, (8, 8), (True, True))


def test_ranks_with_another_past_agree():
    for errors in on_ranks(one_more_on_some_ranks):
        assert max(errors) < 1e-6


def after_many(rank: int, before: int) -> list[float]:
    company._lanes.taken = before
    return two_trainings(rank, (8, LONG), (True, False))


def test_a_process_may_make_more_optimizers_than_there_are_lanes():
    for errors in on_ranks(after_many, LANES - 1, size=2):
        assert max(errors) < 1e-6


class Holder:
    pass


def lane_of(lanes: Lanes, holder: Holder) -> int:
    return lanes.take(holder, [lanes.offer(holder)])


def test_lanes_come_round_to_those_whose_holder_is_gone():
    lanes, first = Lanes(), Holder()
    assert lane_of(lanes, first) == 0
    lanes.taken = LANES - 1
    kept = [Holder() for _ in range(3)]
    assert [lane_of(lanes, holder) for holder in kept] == [LANES - 1, 1, 2]
    assert [lane_of(lanes, holder) for holder in [first, *kept]] == [0, LANES - 1, 1, 2]
    lanes.taken = LANES - 1
    kept.pop(0)
    assert lane_of(lanes, Holder()) == LANES - 1


def test_a_lane_that_somebody_else_holds_is_left_out():
    mine, theirs, holder = Lanes(), Lanes(), Holder()
    lane_of(theirs, other := Holder())
    theirs.taken = LANES
    assert mine.take(holder, [mine.offer(holder), theirs.offer(holder)]) == 1
    assert lane_of(theirs, other) == 0


def test_more_at_a_time_than_there_are_lanes_are_refused(monkeypatch):
    monkeypatch.setattr("gossamer.distributed.lanes.LANES", 2)
    lanes, holders = Lanes(), [Holder() for _ in range(3)]
    assert [lane_of(lanes, holder) for holder in holders[:2]] == [0, 1]
    with pytest.raises(InvalidInput, match="more than 2 in one process, need at most 2 at a time"):
        lane_of(lanes, holders[2])


def two_that_drop(rank: int) -> str:
    kept = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    first = DecentralizedOptimizer(kept[:1], DSGD(0.1), ring, on_peer_failure="drop")
    try:
        DecentralizedOptimizer(kept[1:], DSGD(0.1), ring, on_peer_failure="drop")
    except InvalidInput as error:
        del first
        DecentralizedOptimizer(kept[1:], DSGD(0.1), ring, on_peer_failure="drop")
        return str(error)
    return ""


def test_a_second_that_drops_is_refused_while_there_is_the_first():
    for words in on_ranks(two_that_drop):
        assert words.startswith('on_peer_failure: got a second optimizer with "drop"')
